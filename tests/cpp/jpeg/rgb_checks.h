// SPDX-License-Identifier: Apache-2.0
// What every set of loops from samples to RGB must give.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "jpeg/encoder.h"
#include "jpeg/rgb_kernels.h"

namespace dts::testing {

// Rows of random samples, often extreme ones, with room on both sides.
struct SampleRows {
  static constexpr std::size_t kBefore = 1, kBehind = 3 * kRgbBlock;
  std::array<std::vector<std::uint8_t>, 5> rows;

  SampleRows(std::uint64_t& state, std::int64_t count) {
    for (auto& row : rows) {
      row.resize(kBefore + static_cast<std::size_t>(count) + kBehind);
      for (auto& sample : row) {
        const unsigned kind = next_random(state, 8);
        sample = static_cast<std::uint8_t>(kind == 0   ? 0
                                           : kind == 1 ? 255
                                                       : next_random(state, 256));
      }
    }
  }
  const std::uint8_t* at(std::size_t row) const { return rows[row].data() + kBefore; }
};

inline std::vector<std::uint8_t> converted(RgbKernel kernel, const SampleRows& samples,
                                           std::int64_t count, bool is_lower) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(3 * (count + kRgbBlock)));
  RgbRow row;
  row.luma = samples.at(0);
  row.cb = samples.at(1);
  row.cr = samples.at(2);
  row.far_cb = samples.at(3);
  row.far_cr = samples.at(4);
  row.is_lower = is_lower;
  row.count = count;
  row.out = out.data();
  kernel(row);
  out.resize(static_cast<std::size_t>(3 * count));
  return out;
}

// The two rows between two rows of chroma, after the rows above them, and the sums left.
inline std::vector<std::uint8_t> converted_pair(RgbPairKernel kernel, const SampleRows& samples,
                                                std::int64_t count) {
  struct alignas(32) Sums {
    std::array<std::int16_t, 2 * (100 + kRgbBlock) / 32 * 32> values = {};
  };
  Sums sums;
  const std::int64_t row_bytes = 3 * (count + kRgbBlock);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(2 * row_bytes));
  for (const std::size_t first : {std::size_t{3}, std::size_t{1}}) {
    RgbRowPair rows;
    rows.luma = {samples.at(0), samples.at(0) + 1};
    rows.cb = samples.at(first);
    rows.cr = samples.at(first + 1);
    rows.cb_sums = sums.values.data();
    rows.cr_sums = sums.values.data() + (count + kRgbBlock - 1) / kRgbBlock * kRgbBlock;
    rows.count = count;
    rows.out = {out.data(), out.data() + row_bytes};
    kernel(rows);
  }
  const auto pixels = static_cast<std::size_t>(3 * count);
  std::copy_n(out.begin() + row_bytes, pixels, out.begin() + static_cast<std::ptrdiff_t>(pixels));
  out.resize(2 * pixels);
  return out;
}

// Against the plain loops: rows of every length up to 100 pixels.
inline void check_rgb(const RgbKernels& kernels) {
  const RgbKernels& plain = rgb_kernels_generic();
  std::uint64_t state = 17;
  for (std::int64_t count = 1; count <= 100; ++count) {
    const SampleRows samples(state, count);
    CAPTURE(count);
    for (const auto kind :
         {&RgbKernels::gray, &RgbKernels::h1v1, &RgbKernels::h2v1, &RgbKernels::h1v2}) {
      for (const bool is_lower : {false, true}) {
        REQUIRE(converted(kernels.*kind, samples, count, is_lower) ==
                converted(plain.*kind, samples, count, is_lower));
      }
    }
    REQUIRE(converted_pair(kernels.h2v2, samples, count) ==
            converted_pair(plain.h2v2, samples, count));
  }
}

// Every pair of cb and cr, with two values of luma.
inline void check_every_chroma(const RgbKernels& kernels) {
  const RgbKernels& plain = rgb_kernels_generic();
  std::uint64_t state = 1;
  SampleRows samples(state, 256);
  for (std::size_t i = 0; i < 256; ++i)
    samples.rows[1][SampleRows::kBefore + i] = static_cast<std::uint8_t>(i);
  for (int cr = 0; cr < 256; ++cr) {
    std::fill(samples.rows[2].begin(), samples.rows[2].end(), static_cast<std::uint8_t>(cr));
    for (const int luma : {100, 180}) {
      std::fill(samples.rows[0].begin(), samples.rows[0].end(), static_cast<std::uint8_t>(luma));
      REQUIRE(converted(kernels.h1v1, samples, 256, false) ==
              converted(plain.h1v1, samples, 256, false));
    }
  }
}

}  // namespace dts::testing
