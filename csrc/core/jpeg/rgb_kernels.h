// SPDX-License-Identifier: Apache-2.0
// From samples to RGB: chroma made as wide and high as luma the smooth ("fancy") way, then
// converted, row by row, with libjpeg-turbo's integer arithmetic. One set of loops for each
// SIMD level, with equal bytes. No state, no allocation.
#pragma once

#include <array>
#include <cstdint>

#include "image/simd.h"

namespace dts {

// One row of pixels.
struct RgbRow {
  const std::uint8_t* luma = nullptr;
  // Chroma samples under the first pixel, which has an even place in the picture where chroma is
  // half as wide. Then one sample before the first and one behind the last are read, too.
  const std::uint8_t* cb = nullptr;
  const std::uint8_t* cr = nullptr;
  // Where chroma is half as high: the next nearest row of it.
  const std::uint8_t* far_cb = nullptr;
  const std::uint8_t* far_cr = nullptr;
  bool is_lower = false;  // the lower one of the two rows of pixels beside a row of chroma
  std::int64_t count = 0;
  std::uint8_t* out = nullptr;  // 3 bytes a pixel
};

// Where chroma is half as wide and half as high: the two rows of pixels between two rows of
// chroma, of which the upper one is known by sums that the call for it left.
struct RgbRowPair {
  std::array<const std::uint8_t*, 2> luma = {};
  const std::uint8_t* cb = nullptr;  // the lower row of chroma, as in RgbRow
  const std::uint8_t* cr = nullptr;
  // Of `count` values, rounded up to whole blocks, at a multiple of 32 bytes. In: of the upper row
  // of chroma. Out: of the lower one.
  std::int16_t* cb_sums = nullptr;
  std::int16_t* cr_sums = nullptr;
  std::int64_t count = 0;  // pixels of a row
  std::array<std::uint8_t*, 2> out = {};
};

// Loops work on so many pixels at once: they may read and write up to the next multiple of it
// and read one vector of chroma more than that.
inline constexpr std::int64_t kRgbBlock = 32;

using RgbKernel = void (*)(const RgbRow&);
using RgbPairKernel = void (*)(const RgbRowPair&);

// Named by how many pixels share a sample of chroma.
struct RgbKernels {
  RgbKernel gray = nullptr;  // luma three times
  RgbKernel h1v1 = nullptr;
  RgbKernel h2v1 = nullptr;
  RgbKernel h1v2 = nullptr;
  RgbPairKernel h2v2 = nullptr;
};

const RgbKernels& rgb_kernels_generic();
const RgbKernels& rgb_kernels_avx2();  // the generic ones off x86-64

inline const RgbKernels& rgb_kernels(SimdLevel level) {
  return level == SimdLevel::kGeneric ? rgb_kernels_generic() : rgb_kernels_avx2();
}

}  // namespace dts
