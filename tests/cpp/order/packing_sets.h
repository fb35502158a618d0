// SPDX-License-Identifier: Apache-2.0
// Sets of sample sizes for the packing tests, equal on every platform, and the checks
// that hold for any packing.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "base/bytes.h"
#include "base/philox.h"
#include "order/packing.h"

namespace dts::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

using Sizes = std::vector<std::int64_t>;

inline double uniform(std::uint64_t seed, std::uint64_t i) {
  const Philox4 r = philox4x32(seed, {static_cast<std::uint32_t>(i), 0, 0, 7});
  return (static_cast<double>(r[0]) + 0.5) * 0x1p-32;
}

inline double normal(std::uint64_t seed, std::uint64_t i) {
  const double radius = std::sqrt(-2.0 * std::log(uniform(seed, 2 * i)));
  return radius * std::cos(2.0 * std::numbers::pi * uniform(seed, 2 * i + 1));
}

// Like the files of ImageNet: log-normal with sigma 0.65 and this mean.
inline Sizes log_normal_sizes(std::size_t count, std::uint64_t seed, double mean = 114700.0) {
  constexpr double kSigma = 0.65;
  const double mu = std::log(mean) - kSigma * kSigma / 2.0;
  Sizes sizes(count);
  for (std::size_t i = 0; i < count; ++i) {
    sizes[i] = static_cast<std::int64_t>(std::exp(mu + kSigma * normal(seed, i)));
  }
  return sizes;
}

inline std::int64_t padded(std::int64_t size) {
  return static_cast<std::int64_t>(align_up(static_cast<std::uint64_t>(size)));
}

// The packing holds each sample once, in blocks that are neither empty nor too full.
// Asserts once a block: assertions cost more than the packing.
inline void check_packing(const Sizes& sizes, const Packing& packing, std::uint64_t block_size) {
  const std::int64_t capacity = static_cast<std::int64_t>(block_size) - packing.block_header_size;
  const std::int64_t index_room = (packing.block_header_size - 12) / 12;
  REQUIRE(packing.order.size() == sizes.size());
  std::vector<bool> is_seen(sizes.size(), false);
  std::size_t stored = 0;
  for (const std::int64_t count : packing.block_counts) {
    REQUIRE(count >= 1);
    REQUIRE(count <= index_room);
    REQUIRE(stored + static_cast<std::size_t>(count) <= sizes.size());
    std::int64_t bytes = 0;
    bool is_each_new = true;
    for (std::int64_t k = 0; k < count; ++k) {
      const auto sample = static_cast<std::size_t>(packing.order[stored++]);
      is_each_new = is_each_new && sample < sizes.size() && !is_seen[sample];
      if (!is_each_new) break;
      is_seen[sample] = true;
      bytes += padded(sizes[sample]);
    }
    REQUIRE(is_each_new);
    REQUIRE(bytes <= capacity);
  }
  REQUIRE(stored == sizes.size());
}

inline std::int64_t num_blocks(const Packing& packing) {
  return static_cast<std::int64_t>(packing.block_counts.size());
}

}  // namespace dts::testing
