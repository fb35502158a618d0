// SPDX-License-Identifier: Apache-2.0
// The inner loops of a resize, one set for each SIMD level. Kernels allocate nothing
// and keep no state. Who calls them lends all memory.
//
// Between the passes rows of bytes lie in planes: a plane interleaves the rows of one
// vertical unit, so that the vertical pass meets them side by side.
//   generic  a plane is one row of bytes
//   avx2     a value is two rows' values in 16 bits each
//   avx512   a value is four rows' bytes
#pragma once

#include <cstdint>

#include "image/resample_weights.h"

namespace dts {

inline constexpr int kMaxRowsPerGroup = 4;

// The horizontal pass of `rows_per_group` rows. Not a byte beyond a row's pixels is read.
struct HorizontalJob {
  const std::uint8_t* const* rows = nullptr;
  std::int64_t width = 0;  // pixels in each row
  const PackedAxis* axis = nullptr;
  // Up to 16 bytes beyond the last value of each may be written.
  std::uint8_t* const* planes = nullptr;
  std::uint8_t* scratch = nullptr;  // horizontal_scratch_bytes()
};

struct ResampleKernels {
  WeightLayout column_layout = WeightLayout::kPlain;
  WeightLayout row_layout = WeightLayout::kPlain;
  int rows_per_group = 1;
  // Bytes of a plane for one value, and to how many values planes are padded.
  int value_bytes = 1;
  int value_block = 1;
  void (*horizontal_rgb)(const HorizontalJob& job) = nullptr;
  void (*horizontal_gray)(const HorizontalJob& job) = nullptr;
  // One row of `num_values` bytes from the planes of its units, which are read to the end
  // of their last block of values.
  void (*vertical)(const std::uint8_t* const* planes, const std::uint32_t* words,
                   std::int64_t num_units, std::int64_t num_values, std::uint8_t* out) = nullptr;
  // A group's rows of bytes to its planes, and back.
  void (*interleave)(const std::uint8_t* const* rows, std::int64_t num_values,
                     std::uint8_t* const* planes) = nullptr;
  void (*deinterleave)(const std::uint8_t* const* planes, std::int64_t num_values,
                       std::uint8_t* const* rows) = nullptr;

  int planes_per_group() const { return rows_per_group / unit_taps(row_layout); }
};

// Pixels of RGB rows that are spread out for the horizontal pass at a time: few enough to
// stay in the nearest cache, many enough that windows seldom cross from one run to the next.
constexpr std::int64_t horizontal_run(std::int64_t max_taps) {
  return max_taps < 64 ? 256 : 4 * max_taps;
}

// 64 bytes for a pixel of four RGB rows, 16 for one of four gray rows, and room behind.
constexpr std::int64_t horizontal_scratch_bytes(std::int64_t width, std::int64_t max_taps) {
  const std::int64_t rgb = 64 * (horizontal_run(max_taps) + max_taps + 8);
  const std::int64_t gray = 16 * (width + max_taps + 8);
  return rgb > gray ? rgb : gray;
}

const ResampleKernels& resample_kernels(SimdLevel level);
const ResampleKernels& resample_kernels_generic();
const ResampleKernels& resample_kernels_avx2();    // the generic ones off x86-64
const ResampleKernels& resample_kernels_avx512();  // likewise

}  // namespace dts
