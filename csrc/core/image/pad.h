// SPDX-License-Identifier: Apache-2.0
// Borders around an image, as torchvision's pad gives them for a PIL image.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "image/view.h"

namespace dts {

enum class PadMode { kConstant, kEdge, kReflect, kSymmetric };

// Fills `out`, which is the image with padding[0..3] = left, top, right, bottom pixels
// more (negative: so many pixels less). The two views don't overlap. `fill`: a value per
// channel, or one, or none (0), for kConstant. Thread-safe.
// kReflect and kSymmetric go to and fro where the padding is wider than the image, as numpy
// does, which torchvision calls here; kReflect of a single row or column repeats it.
// InvalidArgument: views whose sizes or channels don't fit; in modes other than kConstant,
// negative padding that leaves nothing to take the border from.
void pad_image(const ConstImageView& image, const std::array<std::int64_t, 4>& padding,
               PadMode mode, std::span<const std::uint8_t> fill, const ImageView& out);

}  // namespace dts
