// SPDX-License-Identifier: Apache-2.0
// Checks that every set of the fused tail's kernels must pass, one function at a time.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "image/convert_kernels.h"
#include "image/half.h"
#include "image/pictures.h"

namespace dts::testing {

// Rows of every length, both ways round, from memory of exactly that length.
inline void check_split_and_flip(const ConvertKernels& kernels) {
  Random random(41);
  for (std::int64_t count = 1; count < 150; ++count) {
    const Picture row = random_picture(random, 1, count, 3),
                  gray = random_picture(random, 1, count, 1);
    const auto size = static_cast<std::size_t>(count);
    for (const bool flip : {false, true}) {
      std::vector<std::uint8_t> memory[3];
      std::uint8_t* rows[3];
      for (int c = 0; c < 3; ++c) {
        memory[c].resize(size + kRowSlack);
        rows[c] = memory[c].data();
      }
      kernels.split_rgb(row.bytes.data(), count, flip, rows);
      for (std::int64_t x = 0; x < count; ++x) {
        const std::uint8_t* pixel = row.at(0, flip ? count - 1 - x : x);
        for (int c = 0; c < 3; ++c) REQUIRE(rows[c][x] == pixel[c]);
      }
    }
    std::vector<std::uint8_t> turned(size * 3 + kRowSlack), turned_gray(size + kRowSlack);
    kernels.flip_rgb(row.bytes.data(), count, turned.data());
    kernels.flip_gray(gray.bytes.data(), count, turned_gray.data());
    for (std::int64_t x = 0; x < count; ++x) {
      const std::uint8_t* pixel = row.at(0, count - 1 - x);
      for (int c = 0; c < 3; ++c) REQUIRE(turned[static_cast<std::size_t>(x * 3 + c)] == pixel[c]);
      REQUIRE(turned_gray[static_cast<std::size_t>(x)] == *gray.at(0, count - 1 - x));
    }
  }
}

// Values y = x * high + ... of the formula in plain C++, in three channels.
struct FormulaTable {
  FormulaTable() {
    const float values[3][kNumConstants] = {{1.0f / 255.0f, 1e-11f, 0.485f, 4.366812f, 1e-8f},
                                            {1.0f, 0.0f, 127.5f, 0.0078125f, 0.0f},
                                            {0.25f, 1e-9f, -3.0f, -2.7f, 1e-8f}};
    for (std::size_t c = 0; c < 3; ++c) {
      const float* k = values[c];
      for (std::size_t byte = 0; byte < 256; ++byte) {
        const auto x = static_cast<float>(byte);
        const float t = std::fma(x, k[kScaleHigh], x * k[kScaleLow]);
        const float u = t - k[kMean];
        value[c][byte] = std::fma(u, k[kFactorHigh], u * k[kFactorLow]);
      }
      for (std::size_t i = 0; i < kNumConstants; ++i) {
        for (std::size_t at = 0; at < kConstantRun; ++at) {
          channel_constants[c][i][at] = k[i];
          if (at % 3 == c) pixel_constants[i][at] = k[i];
        }
      }
    }
  }
  float value[3][256];
  float channel_constants[3][kNumConstants][kConstantRun];
  float pixel_constants[kNumConstants][kConstantRun];
};

// `bits` of a value in `num_bytes` bytes.
template <class Bits>
void check_convert(void (*convert)(const ConvertJob&), std::size_t num_bytes, const Bits& bits) {
  const FormulaTable formula;
  std::vector<std::uint32_t> table;
  for (const auto& channel : formula.value) {
    for (const float value : channel) table.push_back(bits(value));
  }
  Random random(42);
  for (std::int64_t count = 1; count < 300; ++count) {
    for (std::int64_t period : {1, 3}) {
      const std::int64_t channel = period == 1 ? count % 3 : 0;
      const Picture row = random_picture(random, 1, count * period, 1);
      std::vector<std::uint8_t> out(static_cast<std::size_t>(count * period) * num_bytes);
      ConvertJob job = {.in = row.bytes.data(), .count = count * period, .period = period};
      job.table = table.data() + channel * 256;
      job.constants =
          period == 1 ? formula.channel_constants[channel][0] : formula.pixel_constants[0];
      job.out = out.data();
      convert(job);
      for (std::size_t i = 0; i < row.bytes.size(); ++i) {
        const std::size_t c = period == 1 ? static_cast<std::size_t>(channel) : i % 3;
        std::uint32_t found = 0;
        std::memcpy(&found, out.data() + i * num_bytes, num_bytes);
        REQUIRE(found == table[c * 256 + row.bytes[i]]);
      }
    }
  }
}

inline void check_kernels(const ConvertKernels& kernels) {
  check_split_and_flip(kernels);
  check_convert(kernels.to_float32, 4,
                [](float value) { return std::bit_cast<std::uint32_t>(value); });
  check_convert(kernels.to_float16, 2, [](float value) { return float16_bits(value); });
  check_convert(kernels.to_bfloat16, 2, [](float value) { return bfloat16_bits(value); });
}

}  // namespace dts::testing
