// SPDX-License-Identifier: Apache-2.0
// Colour operations on 8-bit images in place, byte for byte what torchvision gives for a
// PIL image: Pillow's ImageEnhance, convert("L"), ImageOps.autocontrast, and the HSV
// round trip of adjust_hue. Images have 3 channels (RGB) or 1 (L), where an operation on
// L does what Pillow does. Kernels with SIMD give the same bytes as the generic ones.
// All thread-safe. InvalidArgument: other numbers of channels, a factor that is not finite
// as a float32.
#pragma once

#include <cstdint>

#include "image/view.h"

namespace dts {

void adjust_brightness(const ImageView& image, double factor);
void adjust_contrast(const ImageView& image, double factor);
void adjust_saturation(const ImageView& image, double factor);
// factor in [-0.5, 0.5]; InvalidArgument otherwise. L stays as it is.
void adjust_hue(const ImageView& image, double factor);
// out: same size, 1 or 3 channels; gray repeated for 3. `image` RGB or L, not overlapping.
void to_grayscale(const ConstImageView& image, const ImageView& out);
void autocontrast(const ImageView& image);

}  // namespace dts
