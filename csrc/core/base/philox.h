// SPDX-License-Identifier: Apache-2.0
// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11): a counter-based generator, so a
// random number is a pure function of (seed, counter) and needs no state.
#pragma once

#include <array>
#include <cstdint>

namespace dts {

using Philox4 = std::array<std::uint32_t, 4>;

// Ten rounds over counter `c` with key = (low word, high word) of `seed`.
Philox4 philox4x32(std::uint64_t seed, Philox4 c);

// [0, 1) on a grid of 2^-24, exact in double.
constexpr double uniform_from(std::uint32_t r) { return static_cast<double>(r >> 8) * 0x1p-24; }

// [0, m) by multiplication (format.md section 5: below).
constexpr std::uint32_t below(std::uint32_t r, std::uint32_t m) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(r) * m) >> 32);
}

}  // namespace dts
