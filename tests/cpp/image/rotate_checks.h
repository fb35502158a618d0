// SPDX-License-Identifier: Apache-2.0
// Checks that every set of the rotation's kernels must pass.
#pragma once

#include <algorithm>
#include <cmath>

#include "image/pictures.h"
#include "image/rotate_kernels.h"

namespace dts::testing {

// The pixel of the nearest place in the image.
inline const std::uint8_t* nearest_inside(const Picture& picture, double y, double x) {
  const auto inside = [](double at, std::int64_t size) {
    return std::clamp(static_cast<std::int64_t>(at), std::int64_t{0}, size - 1);
  };
  return picture.at(inside(y, picture.height), inside(x, picture.width));
}

// One pixel by the textbook; false if its place is outside.
inline bool bilinear_reference(const Picture& source, const Affine& affine, std::int64_t y,
                               std::int64_t x, std::uint8_t* out) {
  const double px = static_cast<double>(x) + 0.5, py = static_cast<double>(y) + 0.5;
  const double at_x = affine.xx * px + affine.xy * py + affine.x0;
  const double at_y = affine.yx * px + affine.yy * py + affine.y0;
  if (at_x < 0 || at_x >= static_cast<double>(source.width)) return false;
  if (at_y < 0 || at_y >= static_cast<double>(source.height)) return false;
  const double left = std::floor(at_x - 0.5), top = std::floor(at_y - 0.5);
  const double along = at_x - 0.5 - left, down = at_y - 0.5 - top;
  const std::uint8_t* const corners[4] = {
      nearest_inside(source, top, left), nearest_inside(source, top, left + 1),
      nearest_inside(source, top + 1, left), nearest_inside(source, top + 1, left + 1)};
  for (std::int64_t c = 0; c < source.channels; ++c) {
    const double upper = corners[0][c] + (corners[1][c] - corners[0][c]) * along;
    const double lower = corners[2][c] + (corners[3][c] - corners[2][c]) * along;
    out[c] = static_cast<std::uint8_t>(upper + (lower - upper) * down);
  }
  return true;
}

inline void check_kernels(const RotateKernels& kernels) {
  Random random(17);
  for (int round = 0; round < 400; ++round) {
    const std::int64_t channels = round % 4 == 0 ? 1 : 3;
    const std::int64_t height = draw(random, 1, 9), width = draw(random, 1, 30);
    const Picture source =
        random_picture(random, height, width, channels, round % 2, draw(random, 0, 2));
    const double angle = static_cast<double>(draw(random, -314, 314)) / 100;
    const auto offset = [&] { return static_cast<double>(draw(random, -60, 60)) / 8; };
    const Affine affine = {std::cos(angle),  std::sin(angle), offset() + 3,
                           -std::sin(angle), std::cos(angle), offset() + 3};
    Picture out(draw(random, 1, 9), draw(random, 1, 30), channels, 2);
    const auto row = channels == 3 ? kernels.bilinear_rgb : kernels.bilinear_gray;
    for (std::int64_t y = 0; y < out.height; ++y) {
      row(source.view(), affine, y, out.view());
      for (std::int64_t x = 0; x < out.width; ++x) {
        std::uint8_t expected[3] = {Picture::kUnset, Picture::kUnset, Picture::kUnset};
        bilinear_reference(source, affine, y, x, expected);
        REQUIRE(std::equal(expected, expected + channels, out.at(y, x)));
      }
    }
    CHECK(out.is_padding_untouched());
  }
}

}  // namespace dts::testing
