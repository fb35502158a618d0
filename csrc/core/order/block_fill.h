// SPDX-License-Identifier: Apache-2.0
// Cutting a list of samples into blocks: the two ways pack_samples chooses from.
// Sizes are padded sizes, each at most the capacity. Thread-safe, deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dts {

struct BlockLimits {
  std::int64_t capacity;     // bytes of samples
  std::int64_t max_samples;  // index room, >= 1
};

// Samples of each block when every block takes the next samples of the list until one
// does not fit.
std::vector<std::int64_t> fill_in_order(std::span<const std::int64_t> sizes,
                                        const BlockLimits& limits);

// Fills blocks to the last bytes wherever sizes allow it and returns their numbers of
// samples. `order` and `sizes` are two columns of one list in random order; they are
// permuted together, so that a block's samples stand side by side.
//
// Each block takes its share of the list, cut where the sum of all shares comes nearest
// to the sum of all fills, then exchanges one or two samples with those next in the list
// to meet the capacity. The cut leaves as often too much as too little, so exchanges take
// larger and smaller samples alike, and later blocks see the same mix as earlier ones.
std::vector<std::int64_t> fill_tightly(std::span<std::int64_t> order, std::span<std::int64_t> sizes,
                                       const BlockLimits& limits, std::uint64_t seed);

}  // namespace dts
