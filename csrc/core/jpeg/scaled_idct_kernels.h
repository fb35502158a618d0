// SPDX-License-Identifier: Apache-2.0
// Inverse cosine transforms that give a block in 1/2, 1/4 or 1/8 of its size: 4x4, 2x2 or 1 of
// samples from as many of its lowest coefficients, whatever the others. Sharper than
// averages of the eight by eight samples, and nearer to them once they are resized
// (docs/performance_log.md). One loop for each SIMD level, with equal bytes. No state, no
// allocation.
#pragma once

#include <array>
#include <cstdint>

#include "image/simd.h"
#include "jpeg/coefficients.h"
#include "jpeg/idct_kernels.h"
#include "jpeg/image_box.h"

namespace dts {

// By halvings: how many places in zigzag order hold all that the transform looks at.
inline constexpr std::array<int, kMaxHalvings + 1> kPlacesOfScaled = {64, 25, 5, 1};

// What the loops may write behind a row.
inline constexpr std::int64_t kScaledIdctSlack = 16;

// As IdctRow says, with rows of `size` samples a block and `size` rows; `ends` are not looked at.
void idct_row_4_generic(const IdctRow& job);
void idct_row_2_generic(const IdctRow& job);
void idct_row_1_generic(const IdctRow& job);
void idct_row_4_avx2(const IdctRow& job);  // the generic ones off x86-64
void idct_row_2_avx2(const IdctRow& job);

// For blocks of 8 >> halvings samples; 0: the exact one.
inline IdctKernel scaled_idct_kernel(SimdLevel level, int halvings) {
  const bool is_generic = level == SimdLevel::kGeneric;
  switch (halvings) {
    case 1:
      return is_generic ? idct_row_4_generic : idct_row_4_avx2;
    case 2:
      return is_generic ? idct_row_2_generic : idct_row_2_avx2;
    case 3:
      return idct_row_1_generic;
    default:
      return idct_kernel(level);
  }
}

}  // namespace dts
