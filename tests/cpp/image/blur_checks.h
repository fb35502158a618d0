// SPDX-License-Identifier: Apache-2.0
// Checks that every set of the blur's kernels must pass.
#pragma once

#include <algorithm>
#include <cmath>

#include "image/blur_kernels.h"
#include "image/pictures.h"

namespace dts::testing {

inline void check_kernels(const BlurKernels& kernels) {
  Random random(23);
  for (std::int64_t count = 0; count < 150; ++count) {
    const auto size = static_cast<std::size_t>(count);
    const Picture bytes = random_picture(random, 1, count, 1);
    std::vector<float> values(size);
    kernels.widen(bytes.bytes.data(), count, values.data());
    for (std::size_t i = 0; i < size; ++i) REQUIRE(values[i] == static_cast<float>(bytes.bytes[i]));

    // Overlapping rows as the blur along x has them, from memory of exactly their length.
    const std::int64_t num_rows = draw(random, 1, 7), begin = draw(random, 0, 3);
    std::vector<float> memory(size + static_cast<std::size_t>(num_rows + begin - 1)), weights;
    for (float& value : memory) value = static_cast<float>(draw(random, 0, 4000)) / 16;
    std::vector<const float*> rows;
    float left = 1;
    for (std::int64_t r = 0; r < num_rows; ++r) {
      rows.push_back(memory.data() + r);
      weights.push_back(r + 1 < num_rows ? left * 0.3F : left);
      left -= weights.back();
    }
    std::vector<float> sums(size);
    std::vector<std::uint8_t> rounded(size);
    const WeightedRows job = {rows.data(), weights.data(), num_rows, begin, count};
    kernels.sum(job, sums.data());
    kernels.sum_bytes(job, rounded.data());
    for (std::size_t i = 0; i < size; ++i) {
      float expected = 0;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const float product = weights[r] * memory[r + i + static_cast<std::size_t>(begin)];
        expected = expected + product;
      }
      REQUIRE(sums[i] == expected);
      REQUIRE(static_cast<float>(rounded[i]) == std::min(std::nearbyint(expected), 255.0F));
    }
  }
  // Halves go to even, what is too large to 255.
  std::vector<float> values;
  for (int i = 0; i < 2 * 256; ++i) values.push_back(static_cast<float>(i) / 2);
  values.insert(values.end(), {255.0001F, 300.0F, 70000.0F});
  const float* const row = values.data();
  const float one = 1;
  const auto count = static_cast<std::int64_t>(values.size());
  std::vector<std::uint8_t> rounded(values.size());
  kernels.sum_bytes({&row, &one, 1, 0, count}, rounded.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    REQUIRE(static_cast<float>(rounded[i]) == std::min(std::nearbyint(values[i]), 255.0F));
  }
}

}  // namespace dts::testing
