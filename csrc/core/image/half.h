// SPDX-License-Identifier: Apache-2.0
// float32 to the bits of the two 16-bit float types, rounded to nearest, ties to even, as
// torch converts. Pure functions.
#pragma once

#include <bit>
#include <cstdint>

namespace dts {

inline std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return 0x7FC0;  // not a number
  // Half of the last place, or just less where the last bit is even.
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

inline std::uint16_t float16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00);
  if (magnitude >= 0x477FF000) return static_cast<std::uint16_t>(sign | 0x7C00);  // 65520 on
  if (magnitude < 0x38800000) {
    // Below 2^-14 the steps are 2^-24 wide, those of floats in [0.5, 1): adding 0.5 rounds.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    magnitude = std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(0.5f);
    return static_cast<std::uint16_t>(sign | magnitude);
  }
  magnitude += 0xFFF + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((magnitude - (112u << 23)) >> 13));
}

}  // namespace dts
