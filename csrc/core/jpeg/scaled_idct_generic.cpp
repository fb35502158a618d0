// SPDX-License-Identifier: Apache-2.0
// The small transforms in plain C++, with the widths of vector arithmetic: what wraps or
// saturates there does so here.
#include <algorithm>
#include <array>

#include "jpeg/scaled_idct_kernels.h"

namespace dts {
namespace {

using namespace idct;

using Four = std::array<std::int16_t, 4>;

std::int16_t saturate16(std::int32_t value) {
  return static_cast<std::int16_t>(std::clamp(value, -32768, 32767));
}

std::int16_t dequantized(const IdctRow& job, const std::int16_t* block, std::size_t place) {
  return static_cast<std::int16_t>(block[place] * static_cast<std::int16_t>(job.table[place]));
}

std::uint8_t to_sample(std::int32_t value) {
  return static_cast<std::uint8_t>(std::clamp(value, -128, 127) + 128);
}

// Four values out of four, shifted down by `shift` bits and rounded. Sums stay within 31 bits.
template <int shift>
Four transform(const Four& in) {
  constexpr int one = 1 << kConstBits, large = k0_541 + k0_765, small = k0_541;
  constexpr int round = 1 << (shift - 1);
  const int sum = in[0] * one + in[2] * one + round;
  const int gap = in[0] * one - in[2] * one + round;
  const int outer = in[1] * large + in[3] * small;
  const int inner = in[1] * small - in[3] * large;
  return {saturate16((sum + outer) >> shift), saturate16((gap + inner) >> shift),
          saturate16((gap - inner) >> shift), saturate16((sum - outer) >> shift)};
}

}  // namespace

void idct_row_4_generic(const IdctRow& job) {
  for (std::int64_t i = 0; i < job.num_blocks; ++i) {
    const std::int16_t* const block = job.blocks + kBlockCoefficients * i;
    std::array<Four, 4> between;  // of each column its four values
    for (std::size_t u = 0; u < 4; ++u) {
      Four column;
      for (std::size_t v = 0; v < 4; ++v) column[v] = dequantized(job, block, 8 * v + u);
      between[u] = transform<kShift1>(column);
    }
    std::uint8_t* out = job.out + 4 * i;
    for (std::size_t y = 0; y < 4; ++y, out += job.stride) {
      const Four row =
          transform<kShift2>({between[0][y], between[1][y], between[2][y], between[3][y]});
      for (std::size_t x = 0; x < 4; ++x) out[x] = to_sample(row[x]);
    }
  }
}

// Weights of 1 and -1 alone.
void idct_row_2_generic(const IdctRow& job) {
  for (std::int64_t i = 0; i < job.num_blocks; ++i) {
    const std::int16_t* const block = job.blocks + kBlockCoefficients * i;
    const std::int16_t upper[] = {dequantized(job, block, 0), dequantized(job, block, 1)};
    const std::int16_t lower[] = {dequantized(job, block, 8), dequantized(job, block, 9)};
    std::uint8_t* out = job.out + 2 * i;
    for (const int sign : {1, -1}) {
      const int left = saturate16(upper[0] + sign * lower[0]);
      const int right = saturate16(upper[1] + sign * lower[1]);
      out[0] = to_sample((left + right + 4) >> 3);
      out[1] = to_sample((left - right + 4) >> 3);
      out += job.stride;
    }
  }
}

void idct_row_1_generic(const IdctRow& job) {
  for (std::int64_t i = 0; i < job.num_blocks; ++i) {
    const int dc = dequantized(job, job.blocks + kBlockCoefficients * i, 0);
    job.out[i] = to_sample((dc + 4) >> 3);
  }
}

}  // namespace dts
