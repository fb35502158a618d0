// SPDX-License-Identifier: Apache-2.0
// Rotation about a centre as PIL.Image.rotate does it, byte for byte, nearest or bilinear.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "image/resample.h"
#include "image/view.h"

namespace dts {

// Degrees counter-clockwise. `out` has the image's size and channels (1 or 3), not
// overlapping. maybe_center: x, y; absent: the middle. `fill`: a value per channel, or one,
// or none (0). Special angles (0, 90, 180, 270) as Pillow treats them. Thread-safe.
// InvalidArgument: another filter than kNearest, kBilinear; views that do not fit.
void rotate_image(const ConstImageView& image, double degrees, Filter filter,
                  std::optional<std::array<double, 2>> maybe_center,
                  std::span<const std::uint8_t> fill, const ImageView& out);

}  // namespace dts
