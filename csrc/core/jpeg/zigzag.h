// SPDX-License-Identifier: Apache-2.0
// Where in a block, row by row, the coefficients stand that a JPEG lists in zigzag order.
#pragma once

#include <array>
#include <cstdint>

namespace dts {

// Behind the 64 places, the last one again: a run that leads out of the block stays inside.
inline constexpr std::array<std::uint8_t, 64 + 32> kNaturalOrder = [] {
  std::array<std::uint8_t, 64 + 32> order = {};
  int row = 0, column = 0;
  for (int k = 0; k < 64; ++k) {
    order[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(8 * row + column);
    // Up and to the right on even diagonals, down and to the left on odd ones.
    if ((row + column) % 2 == 0) {
      if (column == 7) {
        ++row;
      } else if (row == 0) {
        ++column;
      } else {
        --row, ++column;
      }
    } else if (row == 7) {
      ++column;
    } else if (column == 0) {
      ++row;
    } else {
      ++row, --column;
    }
  }
  for (std::size_t k = 64; k < order.size(); ++k) order[k] = 63;
  return order;
}();

}  // namespace dts
