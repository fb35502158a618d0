// SPDX-License-Identifier: Apache-2.0
#include "pipeline/block_feeder_reader.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/error.h"

namespace dts {
namespace {

// Where each block of a unit lies among its blocks.
class BlockPlaces {
 public:
  explicit BlockPlaces(const std::vector<std::int64_t>& blocks) {
    places_.reserve(blocks.size());
    for (std::size_t i = 0; i < blocks.size(); ++i) places_.emplace_back(blocks[i], i);
    std::sort(places_.begin(), places_.end());
  }
  // null: it is none of them.
  const std::size_t* find(std::int64_t block) const {
    const auto found =
        std::lower_bound(places_.begin(), places_.end(), std::pair{block, std::size_t{0}});
    return found == places_.end() || found->first != block ? nullptr : &found->second;
  }

 private:
  std::vector<std::pair<std::int64_t, std::size_t>> places_;
};

}  // namespace

std::vector<std::size_t> check_unit(const SampleSource& source, const ReadUnit& unit) {
  const std::int64_t num_samples = source.num_samples();
  const BlockPlaces places(unit.blocks);
  std::vector<std::size_t> loose;
  for (std::size_t i = 0; i < unit.samples.size(); ++i) {
    const std::int64_t sample = unit.samples[i];
    if (sample < 0 || sample >= num_samples) {
      throw OutOfRange("sample " + std::to_string(sample) + " is out of range, the source has " +
                       std::to_string(num_samples));
    }
    if (unit.blocks.empty()) continue;
    if (places.find(source.block_of(sample)) == nullptr) loose.push_back(i);
  }
  return loose;
}

void make_views(const SampleSource& source, BlockStore* maybe_store, FeederUnit& unit) {
  const std::vector<std::int64_t>& numbers = unit.request.blocks;
  const auto block_bytes = static_cast<std::size_t>(source.block_bytes());
  std::vector<ConstByteSpan> blocks(numbers.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = maybe_store ? maybe_store->find(numbers[i])
                            : ConstByteSpan(unit.piece.subspan(i * block_bytes, block_bytes));
  }
  const BlockPlaces places(numbers);
  unit.views.resize(unit.request.samples.size());
  std::size_t next_loose = 0;
  for (std::size_t i = 0; i < unit.views.size(); ++i) {
    const std::int64_t sample = unit.request.samples[i];
    if (next_loose < unit.loose.size() && unit.loose[next_loose] == i) {
      unit.views[i] = unit.loose_views[next_loose++];
      continue;
    }
    unit.views[i] = source.view_in_block(sample, blocks[*places.find(source.block_of(sample))]);
  }
}

FeederReader::FeederReader(const SampleSource& source, const FeederOptions& options,
                           const std::atomic<bool>& stop, std::atomic<bool>& may_keep)
    : source_(source), options_(options), stop_(stop), may_keep_(may_keep) {}

ReaderState& FeederReader::handles() {
  if (!handles_) {
    handles_ = source_.open_reader();
    handles_->watch(&stop_);
  }
  return *handles_;
}

template <class Action>
void FeederReader::timed(const Action& action) {
  const auto begin = std::chrono::steady_clock::now();
  const auto finish = [&] {
    stats_.read_ns += (std::chrono::steady_clock::now() - begin) / std::chrono::nanoseconds(1);
    if (!handles_) return;
    stats_.bytes_read += std::exchange(handles_->bytes_read, 0);
    stats_.blocks_read += std::exchange(handles_->blocks_read, 0);
  };
  try {
    action();
  } catch (...) {
    finish();
    handles_.reset();  // what may be wrong with them must not outlive the error
    throw;
  }
  finish();
}

void FeederReader::read(const ReadTask& task) {
  FeederUnit& unit = *task.unit;
  if (unit.is_single()) {
    keep_up_to(unit.keep_target);
    if (stop_) return;
    timed([&] {
      unit.memory.clear();
      unit.views.resize(unit.request.samples.size());
      source_.read_samples(unit.request.samples, unit.memory, unit.views, handles());
    });
  } else if (unit.is_loose(task.place)) {
    timed([&] { read_loose(unit); });
  } else {
    timed([&] { read_block(unit, task.place); });
  }
}

void FeederReader::read_loose(FeederUnit& unit) {
  std::vector<std::int64_t> samples;
  samples.reserve(unit.loose.size());
  for (const std::size_t place : unit.loose) samples.push_back(unit.request.samples[place]);
  unit.loose_views.resize(samples.size());
  source_.read_samples(samples, unit.memory, unit.loose_views, handles());
}

void FeederReader::read_block(FeederUnit& unit, std::int64_t place) {
  const std::int64_t block = unit.request.blocks[static_cast<std::size_t>(place)];
  if (!options_.store) {
    const auto block_bytes = static_cast<std::size_t>(source_.block_bytes());
    const ByteSpan out =
        unit.piece.subspan(static_cast<std::size_t>(place) * block_bytes, block_bytes);
    source_.read_block(block, out, options_.check_blocks, handles());
  } else if (options_.store->find(block).empty()) {
    options_.store->load(block, source_, options_.check_blocks, handles());
  }
}

void FeederReader::keep_next() {
  try {
    timed([&] {
      if (!options_.store) {
        if (!source_.keep_next(options_.check_blocks, handles())) may_keep_ = false;
        return;
      }
      const std::int64_t block = options_.store->next_absent();
      if (block < 0) {
        may_keep_ = false;
      } else {
        options_.store->load(block, source_, options_.check_blocks, handles());
      }
    });
  } catch (...) {
    may_keep_ = false;
  }
}

void FeederReader::keep_up_to(std::int64_t num_blocks) {
  const auto num_held = [&] {
    return options_.store ? options_.store->num_held_blocks() : source_.num_held_blocks();
  };
  while (may_keep_ && !stop_ && num_held() < num_blocks) keep_next();
}

FeederStats FeederReader::take_stats() { return std::exchange(stats_, {}); }

}  // namespace dts
