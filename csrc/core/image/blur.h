// SPDX-License-Identifier: Apache-2.0
// torchvision's GaussianBlur on a uint8 image: float32 weights, reflected borders, sums in
// float32, rounded half to even. Rows first, then columns; torch multiplies the two kernels
// and adds in an order that depends on the CPU. So a value may differ by 1 where the true sum
// is within 2e-4 of a half (kernels up to 33): one in 50 000. Kernels with SIMD give the same
// bytes as the generic ones.
#pragma once

#include <array>
#include <cstdint>

#include "image/scratch.h"
#include "image/view.h"

namespace dts {

// kernel: width, height (odd, >= 1); sigma: x, y. In place; `scratch` is reused memory.
// InvalidArgument: an even kernel, a sigma that is not > 0 or not finite, an image that is
// not larger than half the kernel (reflection needs more; torch refuses it, too).
void gaussian_blur(const ImageView& image, std::array<std::int64_t, 2> kernel,
                   std::array<double, 2> sigma, Scratch& scratch);

}  // namespace dts
