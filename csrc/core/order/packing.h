// SPDX-License-Identifier: Apache-2.0
// Level 1: which sample goes into which block. Blocks come out full to a few bytes and
// each is a random sample of the set. Deterministic; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dts {

struct Packing {
  std::vector<std::int64_t> order;         // [num_samples] sample number by stored index
  std::vector<std::int64_t> block_counts;  // [num_blocks] samples of each block, all >= 1
  std::uint32_t block_header_size = 0;
};

struct PackingOptions {
  std::uint64_t block_size = 16u << 20;  // a multiple of 64, at most 2^32
  // Bytes in front of a block's samples, a multiple of 64. 0: chosen so that the index
  // room does not bind, a multiple of 4096, at least `min_block_header_size` (which is
  // itself the choice for photos) and less than a quarter of the block.
  std::uint32_t block_header_size = 0;
  std::uint32_t min_block_header_size = 4096;
  bool shuffled = true;  // false: next-fit in the order given
  std::uint64_t seed = 42;
};

// `sizes`: true bytes of each sample, >= 0; a block keeps them padded to 64.
// At most one block more than packing_bound for sets of many samples a block, at most
// twice that bound plus one for any set whose index room does not bind. About 1 s and
// 50 MB for a million samples. InvalidArgument: a sample larger than a block can hold
// (the message has its number and size), options that don't fit each other.
Packing pack_samples(std::span<const std::int64_t> sizes, const PackingOptions& options);

// Fewest blocks any packing could have: ceil(sum of padded sizes / capacity), and at
// least ceil(n / index room).
std::int64_t packing_bound(std::span<const std::int64_t> sizes, std::uint64_t block_size,
                           std::uint32_t block_header_size);

}  // namespace dts
