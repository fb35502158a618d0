// SPDX-License-Identifier: Apache-2.0
// What a worker does to a sample and what it costs beside that: no lock, no memory.
#include "pipeline/loader_worker.h"

#include "fake_source.h"
#include "pipeline/counted_allocations.h"
#include "pipeline/loader_set.h"
#include "pipeline/pixel_source.h"

using namespace dts::testing;

TEST_CASE("samples for Python come with their bytes and places") {
  auto set = std::make_shared<PixelSet>(50);
  set->foreign = {4, 30};
  set->missing = {31};
  for (const int num_workers : {0, 3}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers));
    auto stream = plain_stream(50, 50, 20, 8);
    stream.occurrences.assign(50, 2);
    loader.start(nullptr, 1, 0);
    append_all(loader, stream);
    dts::Batch batch;
    std::vector<dts::ForeignSample> found;
    while (next_batch(loader, batch) == dts::NextState::kBatch) {
      for (auto& foreign : loader.take_foreign()) found.push_back(std::move(foreign));
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.sample < b.sample; });
    REQUIRE(found.size() == 3);
    for (const auto& foreign : found) {
      CHECK(foreign.batch == foreign.sample / 8);
      CHECK(foreign.slot == foreign.sample % 8);
      CHECK(foreign.index == set->choice_index(foreign.sample));
      CHECK(foreign.occurrence == 2);
      CHECK(foreign.status != dts::DecodeStatus::kOk);
    }
    CHECK(found[0].bytes == PixelSet::foreign_bytes(4));
    CHECK(found[1].bytes == PixelSet::foreign_bytes(30));
    CHECK_FALSE(found[1].is_missing);
    CHECK(found[2].is_missing);
    CHECK(found[2].bytes.empty());
    CHECK(loader.take_foreign().empty());
    CHECK(loader.stats().num_foreign == 3);
    CHECK(loader.stats().num_samples == 50);
    CHECK(loader.stats().num_batches == 7);
  }
}

// 64 threads of few samples each meet at every batch.
TEST_CASE("far more workers than samples in a batch come to the end, woken for work alone") {
  auto set = std::make_shared<PixelSet>(500);
  for (const auto& [num_workers, reproducible] :
       {std::pair{64, true}, std::pair{64, false}, std::pair{200, true}}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers, 2, reproducible));
    const auto stream = plain_stream(1500, 500, 100, 10);
    BatchChecker checker(*set, stream, 4, 0);
    loader.start(nullptr, 4, 0);
    append_all(loader, stream);
    dts::Batch batch;
    while (next_batch(loader, batch) == dts::NextState::kBatch) checker.check(batch);
    CHECK(checker.is_at_end());
    CHECK(loader.stats().num_samples == 1500);
    // A sample waits for its place and for its bytes at most; and all wake at the end. The few
    // more are the system's.
    CHECK(loader.num_wakeups() <= 2 * 1500 + num_workers + 100);
  }
}

class HeldSet : public PixelSet {
 public:
  using PixelSet::PixelSet;
  mutable Gate may_read;

  void read_samples(std::span<const std::int64_t> samples, dts::ReadMemory& memory,
                    std::span<dts::SampleView> views, dts::ReaderState& reader) const override {
    may_read.wait();
    PixelSet::read_samples(samples, memory, views, reader);
  }
};

TEST_CASE("without workers next() sleeps until the bytes come or its time is over") {
  auto set = std::make_shared<HeldSet>(10);
  dts::Loader loader(set, flip_plan(), options_of(0));
  loader.start(nullptr, 4, 0);
  append_all(loader, plain_stream(10, 10, 5, 10));
  dts::Batch batch;
  CHECK(loader.next(50, batch) == dts::NextState::kTimeout);
  CHECK(loader.next(50, batch) == dts::NextState::kTimeout);
  CHECK(loader.num_wakeups() <= 2 + 4);  // one each, and what the system adds
  set->may_read.open();
  CHECK(next_batch(loader, batch) == dts::NextState::kBatch);
  CHECK(batch.size == 10);
}

TEST_CASE("workers without room sleep until there is some") {
  auto set = std::make_shared<PixelSet>(100);
  dts::Loader loader(set, flip_plan(), options_of(4, 2));
  loader.start(nullptr, 4, 0);
  append_all(loader, plain_stream(100, 100, 50, 10));
  for (int i = 0; i < 10000 && loader.stats().num_samples < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(loader.stats().num_samples == 20);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::int64_t before = loader.num_wakeups();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  CHECK(loader.num_wakeups() == before);
  CHECK(loader.stats().num_samples == 20);
}

TEST_CASE("nothing is allocated per sample") {
  constexpr std::int64_t kSamples = 20000;
  const Bytes pixels = noise(1000 * PixelSet::kBytes, 1);
  const auto source = std::make_shared<dts::PixelSource>(
      pixels, PixelSet::kSide, PixelSet::kSide, 3, std::vector<std::int64_t>(1000, 1), nullptr);
  for (const auto& [num_workers, num_views] : {std::pair{0, 1}, {1, 1}, {3, 1}, {0, 3}, {3, 3}}) {
    dts::Loader loader(source, flip_plan(num_views), options_of(num_workers));
    std::int64_t counted = 0;
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      const auto stream = plain_stream(kSamples, 1000, 1000, 250);
      loader.start(nullptr, 4, epoch);
      const std::int64_t before = num_allocations();
      append_all(loader, stream);
      dts::Batch batch;
      while (next_batch(loader, batch) == dts::NextState::kBatch) batch = {};
      counted = num_allocations() - before;
    }
    // 80 batches and 20 units.
    CHECK(counted < 100 * 15);
  }
}

TEST_CASE("a batch has the images of view 0, then those of view 1, and so on") {
  auto set = std::make_shared<PixelSet>(60);
  set->foreign = {4, 30};
  const auto plans = flip_plan(3);
  for (const auto& [num_workers, reproducible] : {std::pair{0, true}, {3, true}, {3, false}}) {
    dts::Loader loader(set, plans, options_of(num_workers, 2, reproducible));
    const auto stream = plain_stream(60, 60, 20, 7);
    loader.start(nullptr, 6, 2);
    append_all(loader, stream);
    dts::SampleRunner runner(flip_plan());
    dts::Batch batch;
    std::vector<std::int64_t> offsets;
    std::int64_t sample = 0;
    int num_differing = 0;
    while (next_batch(loader, batch) == dts::NextState::kBatch) {
      CHECK(batch.plans->num_views() == 3);
      CHECK(batch.zone->guard_is_whole());
      batch.plans->view_offsets(batch.size, offsets);
      bool is_equal = true;
      for (std::int64_t slot = 0; slot < batch.size; ++slot, ++sample) {
        if (set->foreign.contains(sample)) continue;
        is_equal &= batch.zone->labels()[slot] == set->label(sample);
        const std::byte* images[3];
        for (std::uint32_t view = 0; view < 3; ++view) {
          images[view] = batch.zone->images() + offsets[view] + slot * PixelSet::kBytes;
          const Bytes expected = reference_image(runner, *set, sample, 0, 6, 2, view);
          is_equal &= std::memcmp(images[view], expected.data(), expected.size()) == 0;
        }
        num_differing += std::memcmp(images[0], images[1], PixelSet::kBytes) != 0 ? 1 : 0;
      }
      CHECK(is_equal);
    }
    CHECK(sample == 60);
    CHECK(num_differing > 10);
    CHECK(loader.take_foreign().size() == 2);
    CHECK(loader.stats().num_samples == 60);
  }
}

TEST_CASE("boxes of erasing that is left to others come with the batch, for Python's samples too") {
  auto set = std::make_shared<PixelSet>(24);
  set->foreign = {5};
  auto plans = std::make_shared<dts::ViewPlans>(
      dts::parse_view_plans("source channels=3 max_pixels=0 pass_order=2\n"
                            "output height=4 width=4 channels=3 dtype=0 layout=1 scale=0\n"
                            "erasing op=1 p=0.5 scale=0.1,0.9 ratio=0.3,3.3 deferred=1\n"
                            "view\n"
                            "source channels=3 max_pixels=0 pass_order=2\n"
                            "output height=4 width=4 channels=3 dtype=0 layout=1 scale=0\n"));
  CHECK(plans->num_boxes() == 2);
  dts::Loader loader(set, plans, options_of(2));
  const auto stream = plain_stream(24, 24, 8, 6);
  loader.start(nullptr, 9, 3);
  append_all(loader, stream);
  dts::Batch batch;
  int num_erased = 0;
  while (next_batch(loader, batch) == dts::NextState::kBatch) {
    for (std::int64_t slot = 0; slot < batch.size; ++slot) {
      dts::ChoiceKey key;
      key.seed = 9;
      key.epoch = 3;
      key.index = static_cast<std::uint64_t>(batch.zone->indices()[slot]);
      key.op = 1;
      const auto box = dts::choose_erasing(key, 4, 4, 0.5, 0.1, 0.9, 0.3, 3.3);
      const std::int64_t* const row = batch.zone->boxes(0) + 4 * slot;
      const dts::Box wanted = box.value_or(dts::Box{});
      CHECK(row[0] == wanted.top);
      CHECK(row[1] == wanted.left);
      CHECK(row[2] == wanted.height);
      CHECK(row[3] == wanted.width);
      num_erased += row[2] > 0;
      const std::int64_t* const other = batch.zone->boxes(1) + 4 * slot;
      CHECK(std::all_of(other, other + 4, [](std::int64_t value) { return value == 0; }));
      // The pixels are as they were.
      const std::int64_t sample = batch.number * 6 + slot;
      if (sample == 5) continue;
      const Bytes pixels = PixelSet::pixels(sample);
      CHECK(
          std::equal(pixels.begin(), pixels.end(), batch.zone->images() + slot * PixelSet::kBytes));
    }
    static_cast<void>(loader.take_foreign());
  }
  CHECK(num_erased > 4);
  CHECK(num_erased < 20);
}
