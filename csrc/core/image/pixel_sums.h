// SPDX-License-Identifier: Apache-2.0
// Sums of an image's values and of their squares, for mean and standard deviation.
// Exact: integers, so that parts may be added in any order. Thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "image/view.h"

namespace dts {

struct PixelSums {
  std::int64_t num_pixels = 0;
  std::array<std::int64_t, 3> sums{};     // of the values 0 .. 255, by channel
  std::array<std::int64_t, 3> squares{};  // of their squares
};

// Of 1 channel (all three sums are its sum: gray as RGB) or 3; InvalidArgument for others.
// `image` is read only. Holds for images of up to 2^46 pixels.
PixelSums pixel_sums(const ConstImageView& image);

}  // namespace dts
