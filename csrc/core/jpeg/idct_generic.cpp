// SPDX-License-Identifier: Apache-2.0
// The inverse transform in plain C++, with the widths of vector arithmetic: what wraps or
// saturates there does so here.
#include <algorithm>
#include <array>

#include "jpeg/idct_kernels.h"

namespace dts {
namespace {

using namespace idct;

using Line = std::array<std::int16_t, 8>;

std::int16_t wrap16(std::int32_t value) { return static_cast<std::int16_t>(value); }

std::int16_t saturate16(std::int32_t value) {
  return static_cast<std::int16_t>(std::clamp(value, -32768, 32767));
}

// a * x + b * y; sums of such wrap at 32 bits, which unsigned numbers may.
std::uint32_t products(std::int16_t x, int a, std::int16_t y, int b) {
  return static_cast<std::uint32_t>(x * a) + static_cast<std::uint32_t>(y * b);
}

// One dimension: 8 values out of 8, shifted down by `shift` bits and rounded.
template <int shift>
Line transform(const Line& in) {
  const std::uint32_t scaled_sum = static_cast<std::uint32_t>(wrap16(in[0] + in[4])) << kConstBits;
  const std::uint32_t scaled_gap = static_cast<std::uint32_t>(wrap16(in[0] - in[4])) << kConstBits;
  const std::uint32_t low = products(in[2], k0_541 + k0_765, in[6], k0_541);
  const std::uint32_t high = products(in[2], k0_541, in[6], k0_541 - k1_847);
  const std::array<std::uint32_t, 4> even = {scaled_sum + low, scaled_gap + high, scaled_gap - high,
                                             scaled_sum - low};

  const std::int16_t sum_73 = wrap16(in[7] + in[3]);
  const std::int16_t sum_51 = wrap16(in[5] + in[1]);
  const std::uint32_t z3 = products(sum_73, k1_175 - k1_961, sum_51, k1_175);
  const std::uint32_t z4 = products(sum_73, k1_175, sum_51, k1_175 - k0_390);
  const std::array<std::uint32_t, 4> odd = {products(in[7], -k0_899, in[1], k1_501 - k0_899) + z4,
                                            products(in[5], -k2_562, in[3], k3_072 - k2_562) + z3,
                                            products(in[5], k2_053 - k2_562, in[3], -k2_562) + z4,
                                            products(in[7], k0_298 - k0_899, in[1], -k0_899) + z3};

  constexpr std::uint32_t round = 1u << (shift - 1);
  Line out;
  for (std::size_t k = 0; k < 4; ++k) {
    out[k] = saturate16(static_cast<std::int32_t>(even[k] + odd[k] + round) >> shift);
    out[7 - k] = saturate16(static_cast<std::int32_t>(even[k] - odd[k] + round) >> shift);
  }
  return out;
}

void transform_block(const std::int16_t* block, const std::uint16_t* table, std::uint8_t* out,
                     std::int64_t stride) {
  std::array<Line, 8> lines;  // first rows, then columns
  bool is_flat = true;        // nothing below the first row
  for (std::size_t v = 0; v < 8; ++v) {
    for (std::size_t u = 0; u < 8; ++u) {
      is_flat = is_flat && (v == 0 || block[8 * v + u] == 0);
      lines[v][u] = wrap16(block[8 * v + u] * static_cast<std::int16_t>(table[8 * v + u]));
    }
  }
  std::array<Line, 8> between;  // of each column its eight values
  for (std::size_t u = 0; u < 8; ++u) {
    if (is_flat) {  // here the vector code shifts in 16 bits
      between[u].fill(wrap16(lines[0][u] * (1 << kPass1Bits)));
      continue;
    }
    Line column;
    for (std::size_t v = 0; v < 8; ++v) column[v] = lines[v][u];
    between[u] = transform<kShift1>(column);
  }
  for (std::size_t y = 0; y < 8; ++y, out += stride) {
    Line row;
    for (std::size_t u = 0; u < 8; ++u) row[u] = between[u][y];
    row = transform<kShift2>(row);
    for (std::size_t x = 0; x < 8; ++x) {
      out[x] = static_cast<std::uint8_t>(std::clamp<int>(row[x], -128, 127) + 128);
    }
  }
}

// The block's one value, as the two passes would find it.
void fill_block(std::int16_t dc, std::uint16_t table, std::uint8_t* out, std::int64_t stride) {
  const std::int16_t value =
      wrap16(wrap16(dc * static_cast<std::int16_t>(table)) * (1 << kPass1Bits));
  const int sample =
      std::clamp((value + (1 << (kPass1Bits + 2))) >> (kPass1Bits + 3), -128, 127) + 128;
  for (int y = 0; y < 8; ++y, out += stride) std::fill_n(out, 8, static_cast<std::uint8_t>(sample));
}

}  // namespace

void idct_row_generic(const IdctRow& job) {
  for (std::int64_t i = 0; i < job.num_blocks; ++i) {
    const std::int16_t* block = job.blocks + 64 * i;
    std::uint8_t* out = job.out + 8 * i;
    if (job.ends[i] <= 1) {
      fill_block(block[0], job.table[0], out, job.stride);
    } else {
      transform_block(block, job.table, out, job.stride);
    }
  }
}

}  // namespace dts
