// SPDX-License-Identifier: Apache-2.0
// What every loop of the small transforms must give.
#pragma once

#include "jpeg/idct_checks.h"
#include "jpeg/scaled_idct_kernels.h"

namespace dts::testing {

// Rows of 8 >> halvings samples a block, one behind the other.
inline std::vector<std::uint8_t> scaled(IdctKernel kernel, int halvings,
                                        const std::vector<Block>& blocks,
                                        const std::array<std::uint16_t, 64>& table) {
  const std::int64_t size = 8 >> halvings;
  const auto width = size * static_cast<std::int64_t>(blocks.size());
  const std::int64_t stride = width + kScaledIdctSlack;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(size * stride), 99);
  kernel({.blocks = blocks.front().values.data(),
          .num_blocks = static_cast<std::int64_t>(blocks.size()),
          .table = table.data(),
          .out = out.data(),
          .stride = stride});
  std::vector<std::uint8_t> rows;
  for (std::int64_t y = 0; y < size; ++y) {
    rows.insert(rows.end(), out.begin() + y * stride, out.begin() + y * stride + width);
  }
  return rows;
}

// Against the plain loop: coefficients of every size in rows of 1 to 9 blocks.
inline void check_scaled_idct(IdctKernel kernel, IdctKernel plain, int halvings) {
  std::uint64_t state = 13;
  for (int i = 0; i < 1500; ++i) {
    std::array<std::uint16_t, 64> table;
    const unsigned largest = i % 7 == 0 ? 65535 : i % 3 == 0 ? 255 : 16;
    for (auto& entry : table) entry = static_cast<std::uint16_t>(1 + next_random(state, largest));
    std::vector<Block> blocks(1 + next_random(state, 9));
    for (Block& block : blocks) block = random_block(state, 1 + i % 15, 8, 15);
    CAPTURE(i);
    REQUIRE(scaled(kernel, halvings, blocks, table) == scaled(plain, halvings, blocks, table));
  }
}

}  // namespace dts::testing
