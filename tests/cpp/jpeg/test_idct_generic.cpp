// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "jpeg/idct_checks.h"

using dts::testing::Block;
using dts::testing::next_random;

namespace {

// The formula of the standard, less clipping.
double sample_of(const Block& block, const std::array<std::uint16_t, 64>& table, int x, int y) {
  double sum = 0;
  for (int v = 0; v < 8; ++v) {
    for (int u = 0; u < 8; ++u) {
      const auto i = static_cast<std::size_t>(8 * v + u);
      const double scale = (u == 0 ? std::sqrt(0.5) : 1) * (v == 0 ? std::sqrt(0.5) : 1) / 4;
      sum += scale * block.values[i] * table[i] *
             std::cos((2 * x + 1) * u * std::numbers::pi / 16) *
             std::cos((2 * y + 1) * v * std::numbers::pi / 16);
    }
  }
  return sum + 128;
}

}  // namespace

TEST_CASE("inverse transform by the standard's formula, plain loop") {
  std::uint64_t state = 5;
  for (int i = 0; i < 60; ++i) {
    std::array<std::uint16_t, 64> table;
    for (auto& entry : table) entry = static_cast<std::uint16_t>(1 + next_random(state, 9));
    const unsigned limit = 1 + next_random(state, 15);
    const std::vector<Block> blocks = {dts::testing::random_block(state, 4, 8, limit)};
    const std::vector<std::uint8_t> found =
        dts::testing::transformed(dts::idct_row_generic, blocks, table);
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 8; ++x) {
        const double expected = std::clamp(sample_of(blocks[0], table, x, y), 0.0, 255.0);
        const auto at = static_cast<std::size_t>(y * (8 + dts::kIdctSlack) + x);
        REQUIRE(std::abs(found[at] - expected) <= 0.6);
      }
    }
  }
}

TEST_CASE("inverse transform of DC alone, plain loop") {
  std::array<std::uint16_t, 64> table = {};
  table.fill(4);
  const auto sample = [&](int dc) {
    Block block;
    block.values[0] = static_cast<std::int16_t>(dc);
    return int{dts::testing::transformed(dts::idct_row_generic, {block}, table).front()};
  };
  CHECK(sample(0) == 128);
  CHECK(sample(2) == 129);
  CHECK(sample(1) == 129);   // 128.5
  CHECK(sample(-1) == 128);  // 127.5
  CHECK(sample(-2) == 127);
  CHECK(sample(300) == 255);
  CHECK(sample(-300) == 0);
}
