// SPDX-License-Identifier: Apache-2.0
// What a reader thread of a BlockFeeder does with a task: reads it into the unit's memory
// or into the store, and fills the store when there is nothing else to do. One object per
// thread; no locks, the tasks of two threads share no memory.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "pipeline/block_feeder.h"
#include "pipeline/block_feeder_units.h"

namespace dts {

// The places of a unit's samples that are in none of its blocks, where it has blocks.
// OutOfRange: a sample is not of the source.
std::vector<std::size_t> check_unit(const SampleSource& source, const ReadUnit& unit);

// Fills in the views of a unit of blocks that have been read: to the store, or without one
// to unit.piece. Those of its loose samples are there already.
void make_views(const SampleSource& source, BlockStore* maybe_store, FeederUnit& unit);

class FeederReader {
 public:
  // `stop`: set while what is read will not be used. `may_keep`: blocks may be left that
  // nobody has begun; shared by all readers. All outlive the reader.
  FeederReader(const SampleSource& source, const FeederOptions& options,
               const std::atomic<bool>& stop, std::atomic<bool>& may_keep);

  // A unit of single samples: fills the store up to unit.keep_target, then reads it, views
  // included. A block: reads it to its place in unit.piece or to the store. Loose samples: reads
  // them to unit.memory, with their views.
  void read(const ReadTask& task);
  // Reads one more block to be kept; may_keep is unset where none is left. Also after an error,
  // which goes no further: no unit asked for that block, and whoever does meets it.
  void keep_next();

  // What was read since the last call, and how long it took.
  FeederStats take_stats();

 private:
  ReaderState& handles();
  void read_block(FeederUnit& unit, std::int64_t place);
  void read_loose(FeederUnit& unit);
  void keep_up_to(std::int64_t num_blocks);
  template <class Action>
  void timed(const Action& action);

  const SampleSource& source_;
  const FeederOptions& options_;
  const std::atomic<bool>& stop_;
  std::atomic<bool>& may_keep_;
  std::unique_ptr<ReaderState> handles_;  // opened when something is read
  FeederStats stats_;
};

}  // namespace dts
