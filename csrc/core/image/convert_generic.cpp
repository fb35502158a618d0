// SPDX-License-Identifier: Apache-2.0
// The fused tail's loops in plain C++: every value comes from the table.
#include <algorithm>
#include <cstring>

#include "image/convert_kernels.h"

namespace dts {
namespace {

void split_rgb(const std::uint8_t* pixels, std::int64_t count, bool flip,
               std::uint8_t* const* rows) {
  std::uint8_t* const red = rows[0];
  std::uint8_t* const green = rows[1];
  std::uint8_t* const blue = rows[2];
  const std::int64_t step = flip ? -3 : 3;
  if (flip) pixels += (count - 1) * 3;
  for (std::int64_t i = 0; i < count; ++i, pixels += step) {
    red[i] = pixels[0];
    green[i] = pixels[1];
    blue[i] = pixels[2];
  }
}

void flip_rgb(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint8_t* pixel = pixels + (count - 1 - i) * 3;
    for (int c = 0; c < 3; ++c) *out++ = pixel[c];
  }
}

void flip_gray(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) {
  std::reverse_copy(pixels, pixels + count, out);
}

template <class Value>
void convert(const ConvertJob& job) {
  const std::uint8_t* const in = job.in;
  const std::uint32_t* const table = job.table;
  const std::int64_t count = job.count;
  std::uint8_t* out = job.out;
  const auto put = [&out](std::uint32_t bits) {
    const auto value = static_cast<Value>(bits);
    std::memcpy(out, &value, sizeof(value));
    out += sizeof(value);
  };
  if (job.period == 1) {
    for (std::int64_t i = 0; i < count; ++i) put(table[in[i]]);
    return;
  }
  for (std::int64_t i = 0; i + 3 <= count; i += 3) {
    put(table[in[i]]);
    put(table[256 + in[i + 1]]);
    put(table[512 + in[i + 2]]);
  }
}

}  // namespace

const ConvertKernels& convert_kernels_generic() {
  static constexpr ConvertKernels kernels = {
      .split_rgb = split_rgb,
      .flip_rgb = flip_rgb,
      .flip_gray = flip_gray,
      .to_float32 = convert<std::uint32_t>,
      .to_float16 = convert<std::uint16_t>,
      .to_bfloat16 = convert<std::uint16_t>,
  };
  return kernels;
}

const ConvertKernels& convert_kernels(SimdLevel level) {
  switch (level) {
    case SimdLevel::kAvx512:
      return convert_kernels_avx512();
    case SimdLevel::kAvx2:
      return convert_kernels_avx2();
    case SimdLevel::kGeneric:
      break;
  }
  return convert_kernels_generic();
}

}  // namespace dts
