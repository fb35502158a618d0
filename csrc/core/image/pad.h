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
// InvalidArgument: views whose sizes or channels don't fit; kReflect and kSymmetric with
// more padding than the image gives, which torchvision refuses, too.
void pad_image(const ConstImageView& image, const std::array<std::int64_t, 4>& padding,
               PadMode mode, std::span<const std::uint8_t> fill, const ImageView& out);

}  // namespace dts
