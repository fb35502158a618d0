// SPDX-License-Identifier: Apache-2.0
// A rank's part of an epoch (docs/format.md section 5), before any filling. Pure
// functions of their arguments, thread-safe; results belong to the caller.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dts {

// Positions [first, last) of rank r of R in a stream of n samples:
// floor(r*n/R) .. floor((r+1)*n/R), in 128-bit arithmetic.
// InvalidArgument: n < 0, R < 1, r outside of [0, R).
struct RankRange {
  std::int64_t first;
  std::int64_t last;
};
RankRange rank_range(std::int64_t num_samples, std::int64_t num_replicas, std::int64_t rank);

// A run of samples of one block in a rank's stream: stored samples
// [first_sample, first_sample + num_samples) of block `block_id`. `group` counts the
// rank's shuffle windows from 0; `place` is the block's in the epoch's whole block order.
struct BlockRun {
  std::int64_t block_id;
  std::int64_t first_sample;
  std::int64_t num_samples;
  std::int64_t group;
  std::int64_t place;
};

// The rank's blocks, whole or in part, in level-2 order with their groups of
// `shuffle_window` blocks (0: all in one group). Blocks without samples are left out.
// Memory O(blocks), no sample list.
std::vector<BlockRun> rank_runs(std::span<const std::int64_t> block_sizes, std::uint64_t seed,
                                std::uint64_t epoch, std::int64_t shuffle_window,
                                std::int64_t num_replicas, std::int64_t rank);

// Level 3: permutes in place the samples of one group, given in stream order.
// `place`: that of the group's first run.
void shuffle_group(std::span<std::int64_t> samples, std::uint64_t seed, std::uint64_t epoch,
                   std::int64_t place);

// How many samples a rank delivers. InvalidArgument: negative sizes, rank outside of
// [0, num_replicas).
std::int64_t num_rank_samples(std::span<const std::int64_t> block_sizes, std::int64_t num_replicas,
                              std::int64_t rank);

// The stored samples a rank delivers, in order, into the caller's `samples`, of
// `num_rank_samples`. shuffle_window >= 1: levels 2 and 3; 0: uniform ("all").
// Memory besides O(blocks); uniform: O(samples of all ranks).
// InvalidArgument: negative sizes or window, rank outside of [0, num_replicas), another
// number of samples.
void write_sample_order(std::span<const std::int64_t> block_sizes, std::uint64_t seed,
                        std::uint64_t epoch, std::int64_t shuffle_window, std::int64_t num_replicas,
                        std::int64_t rank, std::span<std::int64_t> samples);

// The same as a list.
std::vector<std::int64_t> sample_order(std::span<const std::int64_t> block_sizes,
                                       std::uint64_t seed, std::uint64_t epoch,
                                       std::int64_t shuffle_window, std::int64_t num_replicas,
                                       std::int64_t rank);

}  // namespace dts
