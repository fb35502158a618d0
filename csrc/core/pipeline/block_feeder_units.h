// SPDX-License-Identifier: Apache-2.0
// The units of a BlockFeeder's stream: what each reader is to read next, when its memory is
// free, and when a unit can go. No threads and no reading here; the feeder's mutex guards it.
//
//   append -> admitted (memory is free) -> a queue of tasks per reader -> read -> released
//
// Gates. PARTIAL: block unit k shares its piece of memory with k-2 and is admitted after
// that is released. Single units: at most `single_units_ahead` behind the first one that is
// not released. Both go by the oldest unit in the stream, so what is waited for is never
// kept out by what comes later. The first unit of blocks comes when the first half of the
// single units before it are released, so that a stream's first samples have the processors to
// themselves: reading a group costs as much as decoding a batch. Who waits for blocks has them
// read at once.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "pipeline/block_feeder.h"

namespace dts {

enum class UnitPhase {
  kWaiting,   // not read, or not all of it
  kInStore,   // all its blocks are in the store, its views are not made yet
  kIndexing,  // somebody makes them
  kReady,     // views can be used
  kFailed,
};

struct FeederUnit {
  ReadUnit request;
  std::int64_t number = 0;           // in the stream
  std::int64_t ordinal = 0;          // among the units of its kind
  std::int64_t singles_before = 0;   // single units ahead of it
  std::int64_t samples_left = 0;     // not released
  std::int64_t tasks_left = 0;       // not done
  std::int64_t samples_through = 0;  // in single units up to this one
  std::int64_t keep_target = 0;      // blocks that are to be kept before it is read
  UnitPhase phase = UnitPhase::kWaiting;
  std::exception_ptr error;
  std::vector<SampleView> views;
  // Beside blocks: the samples that are in none of them, by place in the unit, and their views.
  std::vector<std::size_t> loose;
  std::vector<SampleView> loose_views;
  ReadMemory memory;  // of samples read singly
  ByteSpan piece;     // of blocks, PARTIAL, once a reader began

  bool is_single() const { return request.blocks.empty(); }
  // The task that reads the loose samples, behind those of the blocks.
  bool is_loose(std::int64_t place) const {
    return place == static_cast<std::int64_t>(request.blocks.size());
  }
  bool is_read() const { return phase != UnitPhase::kWaiting; }
};

// One block of a unit, its loose samples (FeederUnit::is_loose), or all of a unit of single
// samples (`place` is 0).
struct ReadTask {
  FeederUnit* unit = nullptr;
  std::int64_t place = 0;
};

class FeederUnits {
 public:
  struct Options {
    int readers = 1;
    int single_units_ahead = 3;
    bool has_store = false;
    std::int64_t num_samples = 0;      // of the source
    std::int64_t num_kept_blocks = 0;  // it is to keep, FULLY
  };
  explicit FeederUnits(const Options& options);

  // `loose`: places of the samples that are in none of the unit's blocks, where it has some.
  // True: more can be claimed now.
  bool append(ReadUnit unit, std::vector<std::size_t> loose = {});
  // The reader's next task in stream order; false: none is admitted.
  bool claim(int reader, ReadTask& task);
  // The task was done; true: it was the last of its unit, which is to be given a phase.
  bool finish(const ReadTask& task);
  void set_phase(FeederUnit& unit, UnitPhase phase);

  // null: not appended yet. InvalidArgument: released already, or a negative number.
  FeederUnit* find(std::int64_t number);
  // Somebody waits for the unit. True: more can be claimed now.
  bool want(const FeederUnit& unit);
  // True: more can be claimed now. InvalidArgument: more samples than it has.
  bool release(std::int64_t number, std::int64_t count);
  // Of the unit that is appended next.
  std::int64_t next_number() const {
    return first_number_ + static_cast<std::int64_t>(units_.size());
  }
  std::int64_t num_waiting() const { return num_waiting_; }
  // Whether readers that can claim nothing may fill the store: the first samples come first.
  bool lets_store_fill() const {
    return num_block_units_ > 0 ? !holds_blocks_back() : fills_store_ && first_live_single_ > 0;
  }
  // BlockFeeder::fill_store().
  void fill_store(bool may) {
    fills_store_ = may;
    not_filled_through_ = claimed_through_;
  }
  // Forgets the stream; memory of single units is kept for the next one, or goes to `keep`.
  void reset(std::vector<ReadMemory>* keep = nullptr);

 private:
  struct Queue {
    std::deque<ReadTask> blocks;
    std::deque<ReadTask> singles;
  };

  bool admit();  // true: there are further tasks
  bool holds_blocks_back() const;
  void free(FeederUnit& unit);
  void trim_spare();
  std::int64_t keep_target_of(const FeederUnit& unit) const;

  const Options options_;
  std::deque<std::unique_ptr<FeederUnit>> units_;  // released ones in between are null
  std::int64_t first_number_ = 0;                  // of units_
  std::vector<Queue> queues_;                      // by reader
  std::deque<FeederUnit*> unadmitted_blocks_;
  std::deque<FeederUnit*> unadmitted_singles_;
  std::int64_t piece_user_[2] = {-1, -1};  // number of the unit that has the piece
  std::int64_t num_block_units_ = 0;       // appended
  std::int64_t num_single_units_ = 0;
  std::int64_t single_samples_ = 0;  // in them
  std::int64_t singles_unclaimed_ = 0;
  bool fills_store_ = true;
  std::int64_t claimed_through_ = 0;     // samples_through of the single unit claimed last
  std::int64_t not_filled_through_ = 0;  // the same when filling the store began
  bool begins_blocks_ = false;           // without waiting for the first samples
  std::int64_t first_live_single_ = 0;   // ordinal of the first one not released
  std::deque<bool> single_is_free_;      // from that one on
  std::int64_t num_waiting_ = 0;
  std::vector<ReadMemory> spare_;
};

}  // namespace dts
