// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "jpeg/scaled_idct_checks.h"
#include "jpeg/zigzag.h"

using dts::testing::Block;
using dts::testing::next_random;

namespace {

// The transform of `size` points of the lowest coefficients, less clipping: their cosines
// meet `size` samples in the place of eight.
double sample_of(const Block& block, const std::array<std::uint16_t, 64>& table, int size, int x,
                 int y) {
  double sum = 0;
  for (int v = 0; v < size; ++v) {
    for (int u = 0; u < size; ++u) {
      const auto i = static_cast<std::size_t>(8 * v + u);
      const double scale = (u == 0 ? std::sqrt(0.5) : 1) * (v == 0 ? std::sqrt(0.5) : 1) / 4;
      sum += scale * block.values[i] * table[i] *
             std::cos((2 * x + 1) * u * std::numbers::pi / (2 * size)) *
             std::cos((2 * y + 1) * v * std::numbers::pi / (2 * size));
    }
  }
  return sum + 128;
}

}  // namespace

TEST_CASE("small inverse transforms by their formula, plain loops") {
  std::uint64_t state = 5;
  for (int i = 0; i < 90; ++i) {
    std::array<std::uint16_t, 64> table;
    for (auto& entry : table) entry = static_cast<std::uint16_t>(1 + next_random(state, 9));
    const Block block = dts::testing::random_block(state, 4, 8, 1 + next_random(state, 15));
    for (int halvings = 1; halvings <= 3; ++halvings) {
      const dts::IdctKernel kernel = dts::scaled_idct_kernel(dts::SimdLevel::kGeneric, halvings);
      const auto found = dts::testing::scaled(kernel, halvings, {block}, table);
      const int size = 8 >> halvings;
      for (int k = 0; k < size * size; ++k) {
        const double expected =
            std::clamp(sample_of(block, table, size, k % size, k / size), 0.0, 255.0);
        REQUIRE(std::abs(found[static_cast<std::size_t>(k)] - expected) <= 0.6);
      }
    }
  }
}

TEST_CASE("places of coefficients that small transforms look at") {
  for (std::size_t halvings = 0; halvings <= 3; ++halvings) {
    const unsigned size = 8u >> halvings;
    std::size_t end = 0;
    for (std::size_t k = 0; k < 64; ++k) {
      const unsigned place = dts::kNaturalOrder[k];
      if (place / 8 < size && place % 8 < size) end = k + 1;
    }
    CHECK(dts::kPlacesOfScaled[halvings] == static_cast<int>(end));
  }
}
