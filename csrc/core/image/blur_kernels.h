// SPDX-License-Identifier: Apache-2.0
// The inner loops of the blur, one set for each SIMD level. Sums are taken in the order of
// the rows, each product and each sum rounded to float32, so that all levels agree. No
// state, no allocation.
#pragma once

#include <cstdint>

#include "image/simd.h"

namespace dts {

// Value i of the result, of `count`, is the sum over r of weights[r] * rows[r][begin + i]. Rows
// may overlap.
struct WeightedRows {
  const float* const* rows = nullptr;
  const float* weights = nullptr;
  std::int64_t num_rows = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

struct BlurKernels {
  void (*widen)(const std::uint8_t* bytes, std::int64_t count, float* out) = nullptr;
  void (*sum)(const WeightedRows& job, float* out) = nullptr;
  // The sum to the nearest byte, halves to even; more than 255 is 255. Not below 0.
  void (*sum_bytes)(const WeightedRows& job, std::uint8_t* out) = nullptr;
};

const BlurKernels& blur_kernels(SimdLevel level);
const BlurKernels& blur_kernels_generic();
const BlurKernels& blur_kernels_avx2();  // the generic ones off x86-64

}  // namespace dts
