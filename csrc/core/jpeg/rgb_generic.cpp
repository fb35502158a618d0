// SPDX-License-Identifier: Apache-2.0
// Chroma and colour in plain C++. Weights have 16 bits behind the point.
#include <algorithm>

#include "jpeg/rgb_kernels.h"

namespace dts {
namespace {

constexpr std::int32_t kCrToRed = 91881, kCbToBlue = 116130, kCbToGreen = -22554,
                       kCrToGreen = -46802, kHalf = 1 << 15;

std::uint8_t to_byte(std::int32_t value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

void write_pixel(std::int32_t y, std::int32_t cb, std::int32_t cr, std::uint8_t* out) {
  cb -= 128;
  cr -= 128;
  out[0] = to_byte(y + ((kCrToRed * cr + kHalf) >> 16));
  out[1] = to_byte(y + ((kCbToGreen * cb + kCrToGreen * cr + kHalf) >> 16));
  out[2] = to_byte(y + ((kCbToBlue * cb + kHalf) >> 16));
}

// Chroma of pixel x of the row from the sample near to it, weighted three, and its neighbours.
std::int32_t h1v1(const std::uint8_t* near, const std::uint8_t*, std::int64_t x, bool) {
  return near[x];
}

std::int32_t h2v1(const std::uint8_t* near, const std::uint8_t*, std::int64_t x, bool) {
  const std::int64_t i = x / 2;
  return x % 2 == 0 ? (3 * near[i] + near[i - 1] + 1) >> 2 : (3 * near[i] + near[i + 1] + 2) >> 2;
}

std::int32_t h1v2(const std::uint8_t* near, const std::uint8_t* far, std::int64_t x,
                  bool is_lower) {
  return (3 * near[x] + far[x] + (is_lower ? 2 : 1)) >> 2;
}

using Upsample = std::int32_t (*)(const std::uint8_t*, const std::uint8_t*, std::int64_t, bool);

template <Upsample chroma>
void convert(const RgbRow& row) {
  std::uint8_t* out = row.out;
  for (std::int64_t x = 0; x < row.count; ++x, out += 3) {
    write_pixel(row.luma[x], chroma(row.cb, row.far_cb, x, row.is_lower),
                chroma(row.cr, row.far_cr, x, row.is_lower), out);
  }
}

// Three times the sample next to pixel x and once the other one beside it.
std::int16_t sum_at(const std::uint8_t* samples, std::int64_t x) {
  const std::int64_t i = x / 2;
  return static_cast<std::int16_t>(3 * samples[i] + samples[x % 2 == 0 ? i - 1 : i + 1]);
}

void h2v2(const RgbRowPair& rows) {
  for (std::int64_t x = 0; x < rows.count; ++x) {
    const std::int32_t cb = rows.cb_sums[x], cr = rows.cr_sums[x];
    const std::int32_t next_cb = sum_at(rows.cb, x), next_cr = sum_at(rows.cr, x);
    const std::int32_t round = x % 2 == 0 ? 8 : 7;
    write_pixel(rows.luma[0][x], (3 * cb + next_cb + round) >> 4, (3 * cr + next_cr + round) >> 4,
                rows.out[0] + 3 * x);
    write_pixel(rows.luma[1][x], (cb + 3 * next_cb + round) >> 4, (cr + 3 * next_cr + round) >> 4,
                rows.out[1] + 3 * x);
    rows.cb_sums[x] = static_cast<std::int16_t>(next_cb);
    rows.cr_sums[x] = static_cast<std::int16_t>(next_cr);
  }
}

void gray(const RgbRow& row) {
  std::uint8_t* out = row.out;
  for (std::int64_t x = 0; x < row.count; ++x, out += 3) out[0] = out[1] = out[2] = row.luma[x];
}

}  // namespace

const RgbKernels& rgb_kernels_generic() {
  static constexpr RgbKernels kernels = {.gray = gray,
                                         .h1v1 = convert<h1v1>,
                                         .h2v1 = convert<h2v1>,
                                         .h1v2 = convert<h1v2>,
                                         .h2v2 = h2v2};
  return kernels;
}

}  // namespace dts
