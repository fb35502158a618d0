// SPDX-License-Identifier: Apache-2.0
// The inner loop of bilinear rotation, one for each SIMD level. All compute in double, in
// Pillow's order and without fused multiply-add. No state, no allocation.
#pragma once

#include <algorithm>
#include <cstdint>

#include "image/simd.h"
#include "image/view.h"

namespace dts {

// Where a position of the output comes from: x = xx * px + xy * py + x0, y alike.
struct Affine {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
};

// A position in the source, from the middle of the pixel (left, top); the four pixels it lies
// between are (left, top) to (left + 1, top + 1).
struct Between {
  std::int64_t left = 0, top = 0;
  double along = 0, down = 0;
};

// False where the position (from the image's corner) is not in the image.
inline bool find_between(const ConstImageView& image, double x, double y, Between* out) {
  if (!(x >= 0 && x < static_cast<double>(image.width))) return false;
  if (!(y >= 0 && y < static_cast<double>(image.height))) return false;
  x -= 0.5;
  y -= 0.5;
  // Rounded down; the least values are -0.5.
  out->left = x < 0 ? -1 : static_cast<std::int64_t>(x);
  out->top = y < 0 ? -1 : static_cast<std::int64_t>(y);
  out->along = x - static_cast<double>(out->left);
  out->down = y - static_cast<double>(out->top);
  return true;
}

template <int kChannels>
void mix_between(const ConstImageView& image, const Between& place, std::uint8_t* to) {
  // Beyond the border its pixels go on.
  const std::uint8_t* const upper = image.row(std::max<std::int64_t>(place.top, 0));
  const std::uint8_t* const lower = image.row(std::min(place.top + 1, image.height - 1));
  const std::int64_t left = std::max<std::int64_t>(place.left, 0) * kChannels;
  const std::int64_t right = std::min(place.left + 1, image.width - 1) * kChannels;
  for (int c = 0; c < kChannels; ++c) {
    const double a = upper[left + c] + (upper[right + c] - upper[left + c]) * place.along;
    const double b = lower[left + c] + (lower[right + c] - lower[left + c]) * place.along;
    to[c] = static_cast<std::uint8_t>(a + (b - a) * place.down);
  }
}

struct RotateKernels {
  // Row `y` of `out`; pixels that come from outside of the image are left as they are.
  void (*bilinear_rgb)(const ConstImageView& image, const Affine& affine, std::int64_t y,
                       const ImageView& out) = nullptr;
  void (*bilinear_gray)(const ConstImageView& image, const Affine& affine, std::int64_t y,
                        const ImageView& out) = nullptr;
};

const RotateKernels& rotate_kernels(SimdLevel level);
const RotateKernels& rotate_kernels_generic();
const RotateKernels& rotate_kernels_avx2();  // the generic ones off x86-64

}  // namespace dts
