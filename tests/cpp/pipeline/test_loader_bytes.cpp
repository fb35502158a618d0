// SPDX-License-Identifier: Apache-2.0
// Batches of samples as they are stored.
#include "pipeline/loader.h"

#include <deque>

#include "pipeline/loader_set.h"
#include "pipeline/stored_sample.h"

using namespace dts::testing;
using dts::StoredSample;

namespace {

dts::LoaderOptions byte_options(int num_workers, int prefetch = 2) {
  dts::LoaderOptions options = options_of(num_workers, prefetch);
  options.form = dts::SampleForm::kBytes;
  return options;
}

std::shared_ptr<const dts::ViewPlans> no_plan() {
  return std::make_shared<const dts::ViewPlans>(dts::ViewPlans{{dts::SamplePlan{}}});
}

// Whether the batch holds these samples of the set.
bool holds(const dts::Batch& batch, const PixelSet& set, std::span<const std::int64_t> samples) {
  if (batch.size != std::ssize(samples) || !batch.zone->guard_is_whole()) return false;
  std::vector<std::int64_t> missing;
  for (std::int64_t slot = 0; slot < batch.size; ++slot) {
    const std::int64_t sample = samples[static_cast<std::size_t>(slot)];
    StoredSample stored;
    std::memcpy(&stored, batch.zone->images() + slot * static_cast<std::int64_t>(sizeof stored),
                sizeof stored);
    if (batch.zone->labels()[slot] != set.label(sample)) return false;
    if (batch.zone->indices()[slot] != set.choice_index(sample)) return false;
    if (set.missing.contains(sample)) {
      missing.push_back(slot);
      if (stored.address != 0 || stored.size != 0 || stored.height != 0) return false;
      continue;
    }
    const bool is_encoded = set.foreign.contains(sample);
    const Bytes expected = is_encoded ? PixelSet::foreign_bytes(sample) : PixelSet::pixels(sample);
    const std::int64_t side = is_encoded ? 0 : PixelSet::kSide;
    if (stored.size != std::ssize(expected) || stored.height != side || stored.width != side ||
        stored.channels != (is_encoded ? 0 : 3) ||
        std::memcmp(reinterpret_cast<const void*>(stored.address), expected.data(),
                    expected.size()) != 0) {
      return false;
    }
  }
  return batch.foreign_slots == missing;
}

}  // namespace

TEST_CASE("batches hold the bytes of their samples, whoever copies them") {
  std::mt19937 random(3);
  auto set = std::make_shared<PixelSet>(50);
  set->foreign = {3, 4, 20};
  set->missing = {7, 31};
  for (const int num_workers : {0, 1, 3}) {
    dts::Loader loader(set, no_plan(), byte_options(num_workers));
    for (int round = 0; round < 3; ++round) {
      const StreamCut stream = random_stream(300, 50, 24, 17, random);
      loader.start(nullptr, 1, 0);
      append_all(loader, stream);
      std::deque<dts::Batch> kept;  // longer than units are
      std::span<const std::int64_t> left(stream.samples);
      std::deque<std::span<const std::int64_t>> samples;
      bool is_equal = true;
      dts::Batch batch;
      while (next_batch(loader, batch) == dts::NextState::kBatch) {
        samples.push_back(left.first(static_cast<std::size_t>(batch.size)));
        left = left.subspan(static_cast<std::size_t>(batch.size));
        kept.push_back(std::move(batch));
        if (kept.size() < 5) continue;
        is_equal &= holds(kept.front(), *set, samples.front());
        kept.pop_front();
        samples.pop_front();
      }
      loader.stop();
      for (std::size_t i = 0; i < kept.size(); ++i) is_equal &= holds(kept[i], *set, samples[i]);
      CHECK(is_equal);
      CHECK(left.empty());
    }
  }
}

TEST_CASE("samples that could not be read are for Python, without bytes") {
  auto set = std::make_shared<PixelSet>(9);
  set->missing = {5};
  set->foreign = {2};
  dts::Loader loader(set, no_plan(), byte_options(1));
  loader.start(nullptr, 1, 0);
  append_all(loader, plain_stream(9, 9, 9, 4));
  dts::Batch batch;
  while (next_batch(loader, batch) == dts::NextState::kBatch) {
  }
  const auto foreign = loader.take_foreign();
  REQUIRE(foreign.size() == 1);
  CHECK(foreign[0].batch == 1);
  CHECK(foreign[0].slot == 1);
  CHECK(foreign[0].sample == 5);
  CHECK(foreign[0].is_missing);
  CHECK(foreign[0].bytes.empty());
  CHECK(loader.stats().num_foreign == 1);
}

TEST_CASE("an error of reading comes in its place") {
  auto set = std::make_shared<PixelSet>(40);
  set->failing = {22};
  dts::Loader loader(set, no_plan(), byte_options(2));
  const StreamCut stream = plain_stream(40, 40, 5, 5);
  loader.start(nullptr, 1, 0);
  append_all(loader, stream);
  dts::Batch batch;
  for (std::size_t i = 0; i < 4; ++i) {
    REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
    CHECK(holds(batch, *set, std::span(stream.samples).subspan(5 * i, 5)));
  }
  CHECK_THROWS_AS(next_batch(loader, batch), dts::IoError);
}
