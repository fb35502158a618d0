// SPDX-License-Identifier: Apache-2.0
// Takes the zeros out that JPEG stuffs behind each FF of coded data, one loop for each SIMD
// level, with equal results. No state, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dts {

// Bytes behind the last one written that may be overwritten with anything.
inline constexpr std::size_t kUnstuffRoom = 64;

struct Unstuffing {
  const std::uint8_t* source = nullptr;  // moves on
  const std::uint8_t* end = nullptr;     // nothing is read from here on
  std::uint8_t* target = nullptr;        // moves on
};

// Goes on until the source is at `stop`, which is not behind the end, or one further. FFs right
// before the end are left out as fill bytes. False at another FF that no zero follows: a marker.
bool unstuff_generic(Unstuffing& work, const std::uint8_t* stop);
bool unstuff_avx2(Unstuffing& work, const std::uint8_t* stop);  // the generic one off x86-64

}  // namespace dts
