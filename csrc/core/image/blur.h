// SPDX-License-Identifier: Apache-2.0
// torchvision's GaussianBlur on a uint8 image: a kernel of float32 weights, reflected
// borders, sums in float32, rounded half to even. torch's convolution adds in another
// order, so a value may differ by 1 where the sum is within rounding of a half.
#pragma once

#include <array>
#include <cstdint>

#include "image/scratch.h"
#include "image/view.h"

namespace dts {

// kernel: width, height (odd, >= 1); sigma: x, y. In place; `scratch` is reused memory.
// InvalidArgument: an even kernel, a sigma that is not > 0, an image that is smaller than
// half the kernel (reflection needs more; torch refuses it, too).
void gaussian_blur(const ImageView& image, std::array<std::int64_t, 2> kernel,
                   std::array<double, 2> sigma, Scratch& scratch);

}  // namespace dts
