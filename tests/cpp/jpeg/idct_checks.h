// SPDX-License-Identifier: Apache-2.0
// What every loop of the inverse transform must give.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "jpeg/encoder.h"
#include "jpeg/idct_kernels.h"

namespace dts::testing {

struct alignas(64) Block {
  std::array<std::int16_t, 64> values = {};
};

// Random values of up to `bits` bits and a sign in the corner of `side` by `side`, of which only
// the places before `limit` (counted as i + j) are taken.
inline Block random_block(std::uint64_t& state, int bits, unsigned side, unsigned limit) {
  Block block;
  for (unsigned v = 0; v < side; ++v) {
    for (unsigned u = 0; u < side; ++u) {
      if (u + v >= limit || next_random(state, 3) == 0) continue;
      const int value = static_cast<int>(next_random(state, 1u << (bits + 1))) - (1 << bits);
      block.values[8 * v + u] = static_cast<std::int16_t>(value);
    }
  }
  return block;
}

// The end in zigzag order is that of the last diagonal that is not empty.
inline std::uint8_t end_of_diagonals(const Block& block) {
  unsigned last = 0;
  for (unsigned i = 0; i < 64; ++i) {
    if (block.values[i] != 0) last = std::max(last, i / 8 + i % 8);
  }
  const unsigned count = last + 1;
  return static_cast<std::uint8_t>(count <= 8 ? count * (count + 1) / 2
                                              : 64 - (15 - count) * (16 - count) / 2);
}

inline std::vector<std::uint8_t> transformed(IdctKernel kernel, const std::vector<Block>& blocks,
                                             const std::array<std::uint16_t, 64>& table) {
  std::vector<std::uint8_t> ends;
  for (const Block& block : blocks) ends.push_back(end_of_diagonals(block));
  const auto width = static_cast<std::int64_t>(8 * blocks.size());
  const std::int64_t stride = width + kIdctSlack;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(8 * stride), 99);
  kernel({.blocks = blocks.front().values.data(),
          .ends = ends.data(),
          .num_blocks = static_cast<std::int64_t>(blocks.size()),
          .table = table.data(),
          .out = out.data(),
          .stride = stride});
  for (std::int64_t y = 0; y < 8; ++y) {
    std::fill_n(out.begin() + y * stride + width, kIdctSlack, std::uint8_t{0});
  }
  return out;
}

// Against the plain loop: coefficients of every size, few and many, in rows of 1 to 5 blocks.
inline void check_idct(IdctKernel kernel) {
  std::uint64_t state = 11;
  for (int i = 0; i < 3000; ++i) {
    const int bits = 1 + i % 15;
    std::array<std::uint16_t, 64> table;
    const unsigned largest = i % 7 == 0 ? 65535 : i % 3 == 0 ? 255 : 16;
    for (auto& entry : table) entry = static_cast<std::uint16_t>(1 + next_random(state, largest));
    std::vector<Block> blocks(1 + next_random(state, 5));
    const unsigned side = 1 + next_random(state, 8);
    const unsigned limit = i % 2 == 0 ? 15 : 1 + next_random(state, 8);
    for (Block& block : blocks) block = random_block(state, bits, side, limit);
    CAPTURE(i);
    REQUIRE(transformed(kernel, blocks, table) == transformed(idct_row_generic, blocks, table));
  }
}

}  // namespace dts::testing
