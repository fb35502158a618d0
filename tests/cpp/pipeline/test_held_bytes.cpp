// SPDX-License-Identifier: Apache-2.0
// Batches of outlines: their bytes stay good until they are let go of, wherever the stream is
// by then, and holding them never keeps a batch from being made.
#include "pipeline/held_bytes.h"

#include <deque>

#include "jpeg/encoder.h"
#include "pipeline/child_process.h"
#include "pipeline/loader_set.h"
#include "pipeline/sample_outline.h"

using namespace dts::testing;
using dts::SampleOutline;

namespace {

// 24 small JPEGs in blocks of 4, read into the reader's memory.
class Photos : public dts::SampleSource {
 public:
  static constexpr std::int64_t kNum = 24, kPerBlock = 4, kRoom = 4096;

  Photos() {
    for (int i = 0; i < kNum; ++i) {
      data.push_back(encode({.name = "photo"}, 12 + i, 40 - i, static_cast<unsigned>(i)));
      REQUIRE(data.back().size() <= kRoom);
    }
  }
  std::vector<Bytes> data;  // a test may put something else here, no longer than kRoom

  std::int64_t num_samples() const override { return kNum; }
  std::int64_t label(std::int64_t sample) const override { return 3 * sample; }
  std::int64_t choice_index(std::int64_t sample) const override { return sample + 100; }
  std::unique_ptr<dts::ReaderState> open_reader() const override {
    return std::make_unique<dts::ReaderState>();
  }
  void read_samples(std::span<const std::int64_t> samples, dts::ReadMemory& memory,
                    std::span<dts::SampleView> views, dts::ReaderState&) const override {
    const dts::ByteSpan all = memory.reserve(samples.size() * kRoom);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      views[i] = {put(samples[i], all.subspan(i * kRoom, kRoom)), 0, 0, 0, false};
    }
  }
  std::int64_t block_bytes() const override { return kRoom * kPerBlock; }
  std::int64_t num_blocks() const override { return kNum / kPerBlock; }
  std::int64_t block_of(std::int64_t sample) const override { return sample / kPerBlock; }
  bool read_block(std::int64_t block, dts::ByteSpan out, bool, dts::ReaderState&) const override {
    for (std::int64_t i = 0; i < kPerBlock; ++i) {
      put(block * kPerBlock + i, out.subspan(static_cast<std::size_t>(i * kRoom), kRoom));
    }
    return true;
  }
  dts::SampleView view_in_block(std::int64_t sample, dts::ConstByteSpan block) const override {
    const auto& bytes = data[static_cast<std::size_t>(sample)];
    return {block.subspan(static_cast<std::size_t>(sample % kPerBlock * kRoom), bytes.size()), 0, 0,
            0, false};
  }

 private:
  dts::ConstByteSpan put(std::int64_t sample, dts::ByteSpan out) const {
    const Bytes& bytes = data[static_cast<std::size_t>(sample)];
    std::fill(std::copy(bytes.begin(), bytes.end(), out.begin()), out.end(), std::byte{0xEE});
    return out.first(bytes.size());
  }
};

std::shared_ptr<const dts::ViewPlans> crop_plan() {
  return std::make_shared<const dts::ViewPlans>(dts::parse_view_plans(
      "source channels=3 max_pixels=0 pass_order=2\n"
      "resized_crop op=0 height=8 width=8 scale=0.08,1 ratio=0.75,1.3333 filter=2\n"
      "horizontal_flip op=1 p=0.5\n"
      "output height=8 width=8 channels=3 dtype=0 layout=0 scale=0\n"));
}

dts::LoaderOptions outline_options(int num_workers, int prefetch = 2) {
  dts::LoaderOptions options = options_of(num_workers, prefetch);
  options.form = dts::SampleForm::kOutlines;
  return options;
}

SampleOutline outline_at(const dts::Batch& batch, std::int64_t slot) {
  SampleOutline outline;
  std::memcpy(&outline, batch.zone->images() + slot * static_cast<std::int64_t>(sizeof outline),
              sizeof outline);
  return outline;
}

dts::ConstByteSpan bytes_of_outline(const SampleOutline& outline) {
  return {reinterpret_cast<const std::byte*>(outline.address),
          static_cast<std::size_t>(outline.size)};
}

// The bytes that a batch refers to are those of its samples.
bool is_whole(const dts::Batch& batch, const Photos& photos) {
  bool is_equal = true;
  for (std::int64_t slot = 0; slot < batch.size; ++slot) {
    const Bytes& expected = photos.data[static_cast<std::size_t>(batch.zone->labels()[slot] / 3)];
    const dts::ConstByteSpan found = bytes_of_outline(outline_at(batch, slot));
    is_equal &= std::equal(found.begin(), found.end(), expected.begin(), expected.end());
  }
  return is_equal;
}

// Units of whole blocks, with their samples in turn.
std::vector<dts::ReadUnit> block_units(int num_units, std::int64_t blocks_each) {
  std::vector<dts::ReadUnit> units;
  for (std::int64_t i = 0; i < num_units; ++i) {
    dts::ReadUnit unit;
    for (std::int64_t k = 0; k < blocks_each; ++k) {
      const std::int64_t block = (i * blocks_each + k) % (Photos::kNum / Photos::kPerBlock);
      unit.blocks.push_back(block);
      for (std::int64_t s = 0; s < Photos::kPerBlock; ++s) {
        unit.samples.push_back(block * Photos::kPerBlock + s);
      }
    }
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace

TEST_CASE("outlines of a batch are those of a runner, beside labels and indices") {
  auto photos = std::make_shared<Photos>();
  photos->data[5] = bytes_of("no picture");
  for (const int num_workers : {0, 2}) {
    dts::Loader loader(photos, crop_plan(), outline_options(num_workers));
    dts::SampleRunner runner(crop_plan());
    auto stream = plain_stream(Photos::kNum, Photos::kNum, 6, 6);
    stream.occurrences.assign(Photos::kNum, 1);
    loader.start(nullptr, 9, 4);
    append_all(loader, stream);
    dts::Batch batch;
    std::int64_t sample = 0;
    std::vector<dts::ForeignSample> foreign;
    while (next_batch(loader, batch) == dts::NextState::kBatch) {
      for (auto& each : loader.take_foreign()) foreign.push_back(std::move(each));
      for (std::int64_t slot = 0; slot < batch.size; ++slot, ++sample) {
        CHECK(batch.zone->labels()[slot] == 3 * sample);
        CHECK(batch.zone->indices()[slot] == sample + 100);
        const SampleOutline found = outline_at(batch, slot);
        CHECK(found.occurrence == 1);
        if (sample == 5) {
          CHECK(found.address == 0);
          CHECK(found.size == 0);
          CHECK(batch.foreign_slots == std::vector<std::int64_t>{5});
          continue;
        }
        SampleOutline expected;
        const dts::ChoiceKey key = {.seed = 9,
                                    .epoch = 4,
                                    .index = static_cast<std::uint64_t>(sample + 100),
                                    .occurrence = 1};
        REQUIRE(runner.outline(photos->data[static_cast<std::size_t>(sample)], key, &expected) ==
                dts::DecodeStatus::kOk);
        expected.address = found.address;
        expected.sample = sample;
        expected.occurrence = 1;
        CHECK(std::memcmp(&found, &expected, sizeof found) == 0);
      }
    }
    CHECK(sample == Photos::kNum);
    REQUIRE(foreign.size() == 1);
    CHECK(foreign[0].bytes == photos->data[5]);
  }
}

TEST_CASE("bytes stay good while a batch is held, however units and batches are cut") {
  auto photos = std::make_shared<Photos>();
  std::mt19937 random(7);
  for (int round = 0; round < 24; ++round) {
    CAPTURE(round);
    dts::Loader loader(photos, crop_plan(), outline_options(round % 4, 1 + round % 3));
    loader.start(nullptr, 1, 0);
    std::int64_t length = 150;
    if (round % 2 == 0) {
      append_all(loader, random_stream(length, Photos::kNum, 1 + round, 25, random));
    } else {
      const auto units = block_units(20, 1 + round % 2);
      length = 0;
      for (const auto& unit : units) length += static_cast<std::int64_t>(unit.samples.size());
      loader.append(units, {}, cut(length, 1 + 2 * round, random));
      loader.finish();
    }
    // With one held always the next one comes: more are let go of when none does.
    std::deque<dts::Batch> held;
    std::int64_t count = 0;
    bool is_whole_always = true;
    for (;;) {
      dts::Batch batch;
      const dts::NextState state = loader.next(held.empty() ? 1000 : 1, batch);
      if (state == dts::NextState::kEnd) break;
      if (state == dts::NextState::kBatch) {
        count += batch.size;
        held.push_back(std::move(batch));
        if (held.size() <= 3) continue;
      }
      if (held.empty()) continue;
      is_whole_always &= is_whole(held.front(), *photos);
      held.pop_front();
    }
    for (const dts::Batch& batch : held) is_whole_always &= is_whole(batch, *photos);
    CHECK(is_whole_always);
    CHECK(count == length);
  }
}

TEST_CASE("bytes stay good behind the end of the stream, the next one and the loader") {
  auto photos = std::make_shared<Photos>();
  for (const bool has_blocks : {false, true}) {
    auto loader = std::make_unique<dts::Loader>(photos, crop_plan(), outline_options(1));
    std::vector<dts::Batch> held;
    for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
      loader->start(nullptr, 1, epoch);
      if (has_blocks) {
        loader->append(block_units(6, 1), {}, std::vector<std::int64_t>(4, 6));
        loader->finish();
      } else {
        append_all(*loader, plain_stream(Photos::kNum, Photos::kNum, 4, 6));
      }
      // The first epochs are left early, the last one is gone through.
      for (std::uint32_t i = 0; i < 1 + epoch; ++i) {
        // Of each epoch the last one is kept.
        if (i > 0) held.pop_back();
        held.emplace_back();
        REQUIRE(next_batch(*loader, held.back()) == dts::NextState::kBatch);
      }
      for (const dts::Batch& batch : held) CHECK(is_whole(batch, *photos));
      // One of an earlier epoch goes in the middle of this one.
      if (epoch == 2) held.erase(held.begin());
    }
    loader->stop();
    loader.reset();
    for (const dts::Batch& batch : held) CHECK(is_whole(batch, *photos));
  }
}

TEST_CASE("a batch lies in the memory that was read where its unit lasts as long") {
  auto photos = std::make_shared<Photos>();
  const auto num_neighbours = [&](std::int64_t unit, std::int64_t batch_size) {
    dts::Loader loader(photos, crop_plan(), outline_options(0));
    loader.start(nullptr, 1, 0);
    append_all(loader, plain_stream(Photos::kNum, Photos::kNum, unit, batch_size));
    dts::Batch batch;
    int num = 0;
    while (next_batch(loader, batch) == dts::NextState::kBatch) {
      // Read samples lie kRoom apart, copies close together.
      for (std::int64_t slot = 1; slot < batch.size; ++slot) {
        num +=
            outline_at(batch, slot).address - outline_at(batch, slot - 1).address == Photos::kRoom;
      }
    }
    return num;
  };
  CHECK(num_neighbours(8, 8) == 21);
  CHECK(num_neighbours(24, 8) == 21);
  CHECK(num_neighbours(4, 8) == 9);
}

TEST_CASE("outlines are of lone views") {
  auto photos = std::make_shared<Photos>();
  CHECK_THROWS_WITH_AS(dts::Loader(photos, flip_plan(2), outline_options(0)),
                       "there are 2 views, expected 1: outlines are of one image each",
                       dts::InvalidArgument);
  dts::Loader loader(photos, crop_plan(), outline_options(0));
  CHECK_THROWS_AS(loader.start(flip_plan(2), 1, 0), dts::InvalidArgument);
}

TEST_CASE("samples that have pixels have no outline") {
  auto set = std::make_shared<PixelSet>(8);
  dts::Loader loader(set, flip_plan(), outline_options(1));
  loader.start(nullptr, 1, 0);
  append_all(loader, plain_stream(8, 8, 4, 8));
  dts::Batch batch;
  REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
  CHECK(batch.foreign_slots.size() == 8);
}

TEST_CASE("a forked child lets go of a batch without a lock") {
  auto photos = std::make_shared<Photos>();
  dts::Loader loader(photos, crop_plan(), outline_options(1));
  loader.start(nullptr, 1, 0);
  append_all(loader, plain_stream(Photos::kNum, Photos::kNum, 6, 6));
  dts::Batch batch;
  REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
  Child child([&](Child&) {
    batch = {};
    return true;
  });
  CHECK(child.join());
  CHECK(is_whole(batch, *photos));
}
