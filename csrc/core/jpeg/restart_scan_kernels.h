// SPDX-License-Identifier: Apache-2.0
// The loop that looks for markers, one for each SIMD level, with equal results. No state, no
// allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dts {

inline constexpr std::uint8_t kRst0 = 0xD0, kRst7 = 0xD7;

struct MarkerSearch {
  const std::uint8_t* data = nullptr;
  std::size_t size = 0;
  // In: where to begin. Out: the FF of the marker that ended the search, `size` when none did.
  std::size_t position = 0;
  // Where the offsets of RSTn go. One that is not the next in turn, or one too many, ends the
  // search. Null: RSTn are passed over.
  std::uint32_t* restarts = nullptr;
  std::size_t capacity = 0;
  std::size_t count = 0;

  // What to do with the marker at `at`; false: the search ends there.
  bool passes(std::size_t at) {
    const std::uint8_t code = data[at + 1];
    if (code < kRst0 || code > kRst7) return false;
    if (restarts == nullptr) return true;
    if (count == capacity || code != kRst0 + count % 8) return false;
    restarts[count++] = static_cast<std::uint32_t>(at);
    return true;
  }
};

void search_markers_generic(MarkerSearch& search);
void search_markers_avx2(MarkerSearch& search);  // the generic one off x86-64

}  // namespace dts
