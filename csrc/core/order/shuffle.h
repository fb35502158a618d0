// SPDX-License-Identifier: Apache-2.0
// The order of an epoch (docs/format.md section 5): pure functions of their arguments.
// Seeds are 64-bit words; Python's are taken modulo 2^64. Thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace dts {

// Fisher-Yates over `items` in place: for i = n-1 down to 1,
// j = r0(seed, (low32(i), i >> 32, x, 0)) mod (i + 1).
void fisher_yates(std::span<std::int64_t> items, std::uint64_t seed, std::uint32_t x = 0);

// Level 2: the permutation of 0..num_blocks-1 of an epoch.
std::vector<std::int64_t> block_order(std::int64_t num_blocks, std::uint64_t seed,
                                      std::uint64_t epoch);

// shuffle_window="all": the permutation of 0..num_samples-1 of an epoch.
std::vector<std::int64_t> uniform_order(std::int64_t num_samples, std::uint64_t seed,
                                        std::uint64_t epoch);

// Its part from `first` on, into `part`: half the memory where numbers fit into 32 bits.
// InvalidArgument: the part is not inside of it.
void uniform_order_part(std::int64_t num_samples, std::uint64_t seed, std::uint64_t epoch,
                        std::int64_t first, std::span<std::int64_t> part);

}  // namespace dts
