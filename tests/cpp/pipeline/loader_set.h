// SPDX-License-Identifier: Apache-2.0
// A small set of pixel images for the tests of the loader, the batches that it must give,
// and random ways to cut a stream into units and batches.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "pipeline/loader.h"
#include "pipeline/sample_runner.h"
#include "support.h"

namespace dts::testing {

// kSide x kSide RGB images that differ from one another; read into the reader's memory, so
// that views that are used too long show other bytes.
class PixelSet : public SampleSource {
 public:
  static constexpr std::int64_t kSide = 4;
  static constexpr std::int64_t kBytes = kSide * kSide * 3;

  explicit PixelSet(std::int64_t num_samples) : num_samples_(num_samples) {}

  std::set<std::int64_t> foreign;  // come as bytes that are no JPEG
  std::set<std::int64_t> missing;
  std::set<std::int64_t> failing;  // reading one of them throws IoError
  int read_ms = 0;                 // a unit takes so long

  static Bytes pixels(std::int64_t sample) {
    return noise(kBytes, static_cast<std::uint32_t>(sample));
  }
  static Bytes foreign_bytes(std::int64_t sample) {
    return bytes_of("\xFEno picture " + std::to_string(sample));
  }

  std::int64_t num_samples() const override { return num_samples_; }
  std::int64_t label(std::int64_t sample) const override { return sample * 7 % 1000; }
  std::int64_t choice_index(std::int64_t sample) const override { return sample ^ 5; }
  std::unique_ptr<ReaderState> open_reader() const override {
    return std::make_unique<ReaderState>();
  }
  void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                    std::span<SampleView> views, ReaderState&) const override {
    if (read_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(read_ms));
    const std::size_t room = kBytes + 64;
    const ByteSpan all = memory.reserve(samples.size() * room);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (failing.contains(samples[i])) throw IoError(5, "set", "reading");
      const bool is_foreign = foreign.contains(samples[i]);
      const Bytes bytes = is_foreign ? foreign_bytes(samples[i]) : pixels(samples[i]);
      const ByteSpan place = all.subspan(i * room, bytes.size());
      std::memcpy(place.data(), bytes.data(), bytes.size());
      if (missing.contains(samples[i])) {
        views[i] = {{}, 0, 0, 0, true};
      } else if (is_foreign) {
        views[i] = {place, 0, 0, 0, false};
      } else {
        views[i] = {place, kSide, kSide, 3, false};
      }
    }
  }

 private:
  const std::int64_t num_samples_;
};

inline LoaderOptions options_of(int num_workers, int prefetch_batches = 2,
                                bool reproducible = true) {
  LoaderOptions options;
  options.num_workers = num_workers;
  options.prefetch_batches = prefetch_batches;
  options.reproducible = reproducible;
  return options;
}

// Flips one image in two and leaves the bytes as they are; so many views of it.
inline std::shared_ptr<const ViewPlans> flip_plan(int num_views = 1) {
  const std::string plan =
      "source channels=3 max_pixels=0 pass_order=2\n"
      "horizontal_flip op=0 p=0.5\n"
      "output height=4 width=4 channels=3 dtype=0 layout=0 scale=0\n";
  std::string text = plan;
  for (int view = 1; view < num_views; ++view) text += "view\n" + plan;
  return std::make_shared<const ViewPlans>(parse_view_plans(text));
}

// A stream: its samples, and the two ways in which they are cut.
struct StreamCut {
  std::vector<std::int64_t> samples, occurrences;
  std::vector<std::int64_t> unit_sizes, batch_sizes;
};

inline std::vector<std::int64_t> cut(std::int64_t total, std::int64_t largest,
                                     std::mt19937& random) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t left = total; left > 0; left -= sizes.back()) {
    sizes.push_back(
        std::min<std::int64_t>(left, 1 + static_cast<std::int64_t>(random()) % largest));
  }
  return sizes;
}

inline StreamCut random_stream(std::int64_t length, std::int64_t num_samples,
                               std::int64_t largest_unit, std::int64_t largest_batch,
                               std::mt19937& random) {
  StreamCut stream;
  for (std::int64_t i = 0; i < length; ++i) {
    stream.samples.push_back(static_cast<std::int64_t>(random()) % num_samples);
    stream.occurrences.push_back(static_cast<std::int64_t>(random()) % 3);
  }
  stream.unit_sizes = cut(length, largest_unit, random);
  stream.batch_sizes = cut(length, largest_batch, random);
  return stream;
}

// Every batch of the same size but the last.
inline StreamCut plain_stream(std::int64_t length, std::int64_t num_samples, std::int64_t unit,
                              std::int64_t batch) {
  StreamCut stream;
  for (std::int64_t i = 0; i < length; ++i) stream.samples.push_back(i % num_samples);
  for (std::int64_t at = 0; at < length; at += unit) {
    stream.unit_sizes.push_back(std::min(unit, length - at));
  }
  for (std::int64_t at = 0; at < length; at += batch) {
    stream.batch_sizes.push_back(std::min(batch, length - at));
  }
  return stream;
}

inline std::vector<ReadUnit> units_of(const StreamCut& stream) {
  std::vector<ReadUnit> units;
  auto at = stream.samples.begin();
  for (const std::int64_t size : stream.unit_sizes) {
    units.push_back({{at, at + size}, {}});
    at += size;
  }
  return units;
}

inline void append_all(Loader& loader, const StreamCut& stream) {
  loader.append(units_of(stream), stream.occurrences, stream.batch_sizes);
  loader.finish();
}

// Waits as long as it takes.
inline NextState next_batch(Loader& loader, Batch& batch) {
  for (;;) {
    const NextState state = loader.next(1000, batch);
    if (state != NextState::kTimeout) return state;
  }
}

// What a runner of its own makes of the sample; empty: it is for Python.
inline Bytes reference_image(SampleRunner& runner, const PixelSet& set, std::int64_t sample,
                             std::int64_t occurrence, std::uint64_t seed, std::uint32_t epoch,
                             std::uint32_t view = 0) {
  if (set.foreign.contains(sample) || set.missing.contains(sample)) return {};
  const Bytes pixels = PixelSet::pixels(sample);
  ChoiceKey key;
  key.seed = seed;
  key.epoch = epoch;
  key.index = static_cast<std::uint64_t>(set.choice_index(sample));
  key.occurrence = static_cast<std::uint32_t>(occurrence);
  key.view = view;
  Bytes out(PixelSet::kBytes);
  REQUIRE(runner.run(ConstImageView{reinterpret_cast<const std::uint8_t*>(pixels.data()),
                                    PixelSet::kSide, PixelSet::kSide, 3, PixelSet::kSide * 3},
                     key, out.data()) == DecodeStatus::kOk);
  return out;
}

// Checks batches in the order in which they come.
class BatchChecker {
 public:
  BatchChecker(const PixelSet& set, const StreamCut& stream, std::uint64_t seed,
               std::uint32_t epoch)
      : set_(set), stream_(stream), seed_(seed), epoch_(epoch) {}

  void check(const Batch& batch) {
    REQUIRE(batch.number == next_);
    REQUIRE(batch.size == stream_.batch_sizes[static_cast<std::size_t>(next_)]);
    std::vector<std::int64_t> foreign;
    bool is_equal = batch.zone->guard_is_whole();
    for (std::int64_t slot = 0; slot < batch.size; ++slot, ++at_) {
      const std::int64_t sample = stream_.samples[at_];
      const std::int64_t occurrence = stream_.occurrences.empty() ? 0 : stream_.occurrences[at_];
      is_equal &= batch.zone->labels()[slot] == set_.label(sample);
      is_equal &= batch.zone->indices()[slot] == set_.choice_index(sample);
      const Bytes expected = reference_image(runner_, set_, sample, occurrence, seed_, epoch_);
      if (expected.empty()) {
        foreign.push_back(slot);
        continue;
      }
      is_equal &= std::memcmp(batch.zone->images() + slot * PixelSet::kBytes, expected.data(),
                              expected.size()) == 0;
    }
    CHECK(is_equal);
    CHECK(batch.foreign_slots == foreign);
    ++next_;
  }
  std::int64_t num_checked() const { return next_; }
  bool is_at_end() const { return at_ == stream_.samples.size(); }

 private:
  const PixelSet& set_;
  const StreamCut& stream_;
  std::uint64_t seed_;
  std::uint32_t epoch_;
  SampleRunner runner_{flip_plan()};
  std::int64_t next_ = 0;
  std::size_t at_ = 0;
};

}  // namespace dts::testing
