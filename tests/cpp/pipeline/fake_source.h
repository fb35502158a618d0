// SPDX-License-Identifier: Apache-2.0
// A source in memory whose reads a test can count, hold up and let fail.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/block_store.h"
#include "pipeline/sample_source.h"
#include "support.h"

namespace dts::testing {

// Something that threads wait for, for ever if need be: a test that hangs has failed.
class Gate {
 public:
  void open() {
    {
      const std::lock_guard lock(mutex_);
      is_open_ = true;
    }
    opened_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    opened_.wait(lock, [&] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

// Sample s is noise(size_of(s), s), label 7 * s, choice index s + 1000. Samples lie in
// blocks of kBlockBytes one after the other, each at a multiple of kSampleBytes. A block with
// more than fit can't be read, but its samples one by one.
class FakeSource : public SampleSource {
 public:
  static constexpr std::int64_t kBlockBytes = 4096;
  static constexpr std::int64_t kSampleBytes = 256;  // room for one, at most 199 used

  // `counts`: samples of each block.
  explicit FakeSource(const std::vector<std::int64_t>& counts) : first_{0} {
    for (const std::int64_t count : counts) first_.push_back(first_.back() + count);
    sample_reads_ = std::vector<std::atomic<int>>(static_cast<std::size_t>(first_.back()));
    block_reads_ = std::vector<std::atomic<int>>(counts.size());
  }

  // Called with the block, or the samples, before they are read; may wait and throw.
  std::function<void(std::int64_t)> on_block;
  std::function<void(std::span<const std::int64_t>)> on_samples;
  std::function<void()> on_open;
  std::shared_ptr<BlockStore> kept_in;  // before any feeder is made

  static std::size_t size_of(std::int64_t sample) {
    return static_cast<std::size_t>(sample * 37 % 200);
  }
  static Bytes bytes_of_sample(std::int64_t sample) {
    return noise(size_of(sample), static_cast<std::uint32_t>(sample));
  }
  // The samples of a block.
  std::vector<std::int64_t> samples_of(std::int64_t block) const {
    std::vector<std::int64_t> samples;
    for (std::int64_t s = first_[at(block)]; s < first_[at(block) + 1]; ++s) samples.push_back(s);
    return samples;
  }
  int sample_reads(std::int64_t sample) const { return sample_reads_[at(sample)]; }
  int block_reads(std::int64_t block) const { return block_reads_[at(block)]; }
  int num_reads() const { return num_reads_; }

  std::int64_t num_samples() const override { return first_.back(); }
  std::int64_t label(std::int64_t sample) const override { return 7 * sample; }
  std::int64_t choice_index(std::int64_t sample) const override { return sample + 1000; }
  std::unique_ptr<ReaderState> open_reader() const override {
    if (on_open) on_open();
    return std::make_unique<ReaderState>();
  }
  void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                    std::span<SampleView> views, ReaderState& reader) const override {
    check_views(samples.size(), views.size());
    if (on_samples) on_samples(samples);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      check_sample(samples[i]);
      views[i] = {};
      const ConstByteSpan held = kept_in ? kept_in->find(block_of(samples[i])) : ConstByteSpan();
      if (!held.empty()) {
        views[i] = view_in_block(samples[i], held);
        continue;
      }
      const Bytes bytes = bytes_of_sample(samples[i]);
      const ByteSpan out = memory.allocate(bytes.size());
      std::copy(bytes.begin(), bytes.end(), out.begin());
      views[i].bytes = out;
      ++sample_reads_[at(samples[i])];
      ++num_reads_;
      reader.bytes_read += static_cast<std::int64_t>(bytes.size());
    }
  }
  std::int64_t block_bytes() const override { return kBlockBytes; }
  std::int64_t num_blocks() const override { return static_cast<std::int64_t>(first_.size()) - 1; }
  std::int64_t block_of(std::int64_t sample) const override {
    check_sample(sample);
    return std::upper_bound(first_.begin(), first_.end(), sample) - first_.begin() - 1;
  }
  bool read_block(std::int64_t block, ByteSpan out, bool check,
                  ReaderState& reader) const override {
    if (on_block) on_block(block);
    last_check = check;
    ++block_reads_[at(block)];
    ++num_reads_;
    REQUIRE(out.size() == kBlockBytes);
    std::fill(out.begin(), out.end(), std::byte{0});
    for (const std::int64_t sample : samples_of(block)) {
      const Bytes bytes = bytes_of_sample(sample);
      std::copy(bytes.begin(), bytes.end(),
                out.begin() + static_cast<std::ptrdiff_t>(offset(sample)));
    }
    reader.bytes_read += kBlockBytes;
    reader.blocks_read += 1;
    return true;
  }
  SampleView view_in_block(std::int64_t sample, ConstByteSpan block_memory) const override {
    SampleView view;
    view.bytes = block_memory.subspan(offset(sample), size_of(sample));
    return view;
  }
  std::shared_ptr<BlockStore> store() const override { return kept_in; }
  std::int64_t num_kept_blocks() const override { return kept_in ? num_blocks() : 0; }
  std::int64_t num_held_blocks() const override { return kept_in ? kept_in->num_held_blocks() : 0; }
  bool keep_next(bool check, ReaderState& reader) const override {
    const std::int64_t block = kept_in ? kept_in->next_absent() : -1;
    if (block < 0) return false;
    kept_in->load(block, *this, check, reader);
    return true;
  }

  mutable std::atomic<bool> last_check{false};

 private:
  static std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }
  // In its block. std::logic_error: a test gave the block more samples than have room there.
  std::size_t offset(std::int64_t sample) const {
    const std::int64_t number = sample - first_[at(block_of(sample))];
    if (number >= kBlockBytes / kSampleBytes) {
      throw std::logic_error("a block of FakeSource has room for " +
                             std::to_string(kBlockBytes / kSampleBytes) + " samples, not for " +
                             std::to_string(number + 1));
    }
    return static_cast<std::size_t>(number * kSampleBytes);
  }

  std::vector<std::int64_t> first_;
  mutable std::vector<std::atomic<int>> sample_reads_;
  mutable std::vector<std::atomic<int>> block_reads_;
  mutable std::atomic<int> num_reads_{0};
};

inline void check_bytes(const SampleView& view, std::int64_t sample) {
  const Bytes expected = FakeSource::bytes_of_sample(sample);
  CHECK(view.bytes.size() == expected.size());
  CHECK(std::equal(view.bytes.begin(), view.bytes.end(), expected.begin(), expected.end()));
  CHECK(view.height == 0);
  CHECK_FALSE(view.is_missing);
}

inline void check_views(std::span<const SampleView> views,
                        const std::vector<std::int64_t>& samples) {
  REQUIRE(views.size() == samples.size());
  for (std::size_t i = 0; i < views.size(); ++i) check_bytes(views[i], samples[i]);
}

}  // namespace dts::testing
