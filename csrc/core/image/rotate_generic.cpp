// SPDX-License-Identifier: Apache-2.0
// Bilinear rotation in plain C++.
#include "image/rotate_kernels.h"

namespace dts {
namespace {

template <int kChannels>
void bilinear(const ConstImageView& image, const Affine& affine, std::int64_t y,
              const ImageView& out) {
  const double py = static_cast<double>(y) + 0.5;
  const double x_of_row = affine.xy * py, y_of_row = affine.yy * py;
  std::uint8_t* to = out.row(y);
  for (std::int64_t x = 0; x < out.width; ++x, to += kChannels) {
    const double px = static_cast<double>(x) + 0.5;
    Between place;
    if (find_between(image, affine.xx * px + x_of_row + affine.x0,
                     affine.yx * px + y_of_row + affine.y0, &place)) {
      mix_between<kChannels>(image, place, to);
    }
  }
}

}  // namespace

const RotateKernels& rotate_kernels_generic() {
  static constexpr RotateKernels kernels = {.bilinear_rgb = bilinear<3>,
                                            .bilinear_gray = bilinear<1>};
  return kernels;
}

const RotateKernels& rotate_kernels(SimdLevel level) {
  return level == SimdLevel::kGeneric ? rotate_kernels_generic() : rotate_kernels_avx2();
}

}  // namespace dts
