// SPDX-License-Identifier: Apache-2.0
// How large images become and where crops lie: torchvision's rules, to the rounding.
// Pure functions.
#pragma once

#include <array>
#include <cstdint>

#include "base/box.h"
#include "pipeline/sample_plan.h"

namespace dts {

struct ImageSize {
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const ImageSize&) const = default;
};

// What a kResize step makes of the image. A side may come out as 0, which Pillow refuses.
ImageSize resized_size(const Step& step, const ImageSize& image);

// The crop of a kCenterCrop step, as a box of the image; where the step is larger than the
// image the box begins outside and reaches beyond it, and black is around the image.
Box center_crop_box(const Step& step, const ImageSize& image);

// What a kRandomCrop step with pad_if_needed adds to an image (already padded) on the
// left and again on the right, and on top and again below.
ImageSize needed_padding(const Step& step, const ImageSize& image);

// How far a box reaches beyond an image: left, top, right, bottom, each >= 0.
std::array<std::int64_t, 4> overhang(const Box& box, const ImageSize& image);

}  // namespace dts
