// SPDX-License-Identifier: Apache-2.0
// The resize kernels in plain C++, written so that compilers vectorize them.
#include <algorithm>
#include <cstring>

#include "image/resample_kernels.h"

namespace dts {
namespace {

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);
// Values of a row that the vertical pass sums up at a time: stays in the nearest cache.
constexpr std::int64_t kChunk = 256;

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

template <int channels>
void horizontal(const HorizontalJob& job) {
  const PackedAxis& axis = *job.axis;
  const std::uint8_t* row = job.rows[0];
  std::uint8_t* out = job.planes[0];
  for (std::size_t x = 0; x < axis.first.size(); ++x) {
    const std::uint8_t* pixel = row + axis.first[x] * std::int64_t{channels};
    const std::uint32_t* words = axis.words.data() + x * static_cast<std::size_t>(axis.stride);
    std::int32_t sums[channels];
    std::fill_n(sums, channels, kHalf);
    for (std::int32_t t = 0; t < axis.num_units[x]; ++t, pixel += channels) {
      const auto weight = static_cast<std::int32_t>(words[t]);
      for (int c = 0; c < channels; ++c) sums[c] += pixel[c] * weight;
    }
    for (int c = 0; c < channels; ++c) *out++ = to_byte(sums[c]);
  }
}

void vertical(const std::uint8_t* const* planes, const std::uint32_t* words, std::int64_t num_units,
              std::int64_t num_values, std::uint8_t* out) {
  std::int32_t sums[kChunk];
  for (std::int64_t begin = 0; begin < num_values; begin += kChunk) {
    const std::int64_t count = std::min(kChunk, num_values - begin);
    std::fill_n(sums, count, kHalf);
    for (std::int64_t u = 0; u < num_units; ++u) {
      const auto weight = static_cast<std::int32_t>(words[u]);
      const std::uint8_t* row = planes[u] + begin;
      for (std::int64_t i = 0; i < count; ++i) sums[i] += row[i] * weight;
    }
    for (std::int64_t i = 0; i < count; ++i) out[begin + i] = to_byte(sums[i]);
  }
}

// A plane is a row of bytes here.
void interleave(const std::uint8_t* const* rows, std::int64_t num_values,
                std::uint8_t* const* planes) {
  std::memcpy(planes[0], rows[0], static_cast<std::size_t>(num_values));
}

void deinterleave(const std::uint8_t* const* planes, std::int64_t num_values,
                  std::uint8_t* const* rows) {
  std::memcpy(rows[0], planes[0], static_cast<std::size_t>(num_values));
}

}  // namespace

const ResampleKernels& resample_kernels_generic() {
  static constexpr ResampleKernels kernels = {
      .horizontal_rgb = horizontal<3>,
      .horizontal_gray = horizontal<1>,
      .vertical = vertical,
      .interleave = interleave,
      .deinterleave = deinterleave,
  };
  return kernels;
}

const ResampleKernels& resample_kernels(SimdLevel level) {
  switch (level) {
    case SimdLevel::kAvx512:
      return resample_kernels_avx512();
    case SimdLevel::kAvx2:
      return resample_kernels_avx2();
    case SimdLevel::kGeneric:
      break;
  }
  return resample_kernels_generic();
}

}  // namespace dts
