// SPDX-License-Identifier: Apache-2.0
// Reads a stream of samples ahead of those who decode it. The stream is cut into *units*,
// consecutive runs of samples that are read and given back together: either some samples
// read singly, or the samples of some whole blocks (a shuffle group), with some read singly
// from blocks of which the rest isn't wanted.
//
//   append(unit) ... -> reader threads, by stride -> wait(unit) -> views -> release -> memory
//
// PARTIAL: at most two units of blocks are in memory, the one being used and the one being
// read, and a few of single samples. FULLY (there is a BlockStore): blocks go into the
// store, once and for all; what it holds is never read again. Readers that have nothing to
// do fill it in the background, and a stream of single units fills it in step, so that it is
// complete when all samples have been read.
// Threads wait on condition variables. One thread appends; any number wait and release.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "pipeline/block_store.h"
#include "pipeline/read_buffers.h"
#include "pipeline/sample_source.h"

namespace dts {

struct FeederOptions {
  int reader_threads = 1;                // >= 1
  bool check_blocks = true;              // CRC-32 of whole blocks
  int single_units_ahead = 3;            // units of single samples read and not yet released
  std::shared_ptr<BlockStore> store;     // null: the source's own; where it has none: PARTIAL
  std::shared_ptr<ReadBuffers> buffers;  // the two pieces of memory; null: its own
};

struct ReadUnit {
  std::vector<std::int64_t> samples;  // in stream order, at least one
  std::vector<std::int64_t> blocks;   // read whole; samples in none of them are read singly
};

struct FeederStats {
  std::int64_t bytes_read = 0;
  std::int64_t read_ns = 0;  // of all readers together
  std::int64_t blocks_read = 0;
};

class BlockFeeder {
 public:
  BlockFeeder(std::shared_ptr<const SampleSource> source, const FeederOptions& options);
  // stop(), then joins the readers. In a forked child, where there are none, it does
  // nothing but leave the memory to the end of the process.
  ~BlockFeeder();
  BlockFeeder(const BlockFeeder&) = delete;
  BlockFeeder& operator=(const BlockFeeder&) = delete;

  // Begins a new stream whose units count from 0; readers start with the first one. From here to
  // stop() the buffers are taken. InvalidArgument: `buffers` are in use by another feeder's
  // stream, or the feeder was made in another process.
  void start();
  // InvalidArgument, OutOfRange: the unit has no samples, or one that is not of the source.
  void append(ReadUnit unit);
  // Units appended and not yet read: how far the appending thread is ahead.
  std::int64_t num_units_waiting() const;
  // Whether readers may load blocks into the store ahead of their samples; start() says yes. The
  // unit that ends an epoch has them all loaded in any case.
  void fill_store(bool may);
  // Ends the stream: waiters return null. Returns when no reader touches its memory any
  // more; the caller sees to it that nobody uses views of it. `keep`: gets the memory of
  // the stream's units, which is then not used again; null: it may be.
  void stop(std::vector<ReadMemory>* keep = nullptr);

  // Waits until unit `number` is in memory and returns its views, by position in the unit,
  // which hold until its last release. Empty: the stream was stopped, or `deadline_ns` of the
  // steady clock is over (kForEver: none). Throws what reading the unit threw (to every
  // waiter). InvalidArgument: it has been released.
  static constexpr std::int64_t kForEver = std::numeric_limits<std::int64_t>::max();
  std::span<const SampleView> wait(std::int64_t number, std::int64_t deadline_ns = kForEver);
  // `count` samples of the unit are done with; after as many as it has, its memory is free.
  void release(std::int64_t number, std::int64_t count = 1);

  FeederStats stats() const;
  // How often threads woke in wait(): once for a unit, were it not for chance.
  std::int64_t num_wakeups() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dts
