// SPDX-License-Identifier: Apache-2.0
// Boxes of a picture of which a decoder may give 1/2, 1/4 or 1/8 in each direction. Pure functions.
#pragma once

#include <cstdint>
#include <string>

#include "base/box.h"

namespace dts {

inline constexpr int kMaxHalvings = 3;

// Pixels of a side of `size` at 1 / 2^halvings.
constexpr std::int64_t scaled_side(std::int64_t size, int halvings) {
  return (size + (std::int64_t{1} << halvings) - 1) >> halvings;
}

// Not empty, and inside of the picture at this scale. Width and height are the picture's at full
// size, here and below.
bool is_inside(const Box& box, std::int64_t width, std::int64_t height, int halvings);

// Where a box of the scaled picture lies in the whole one.
Box unscaled(const Box& box, std::int64_t width, std::int64_t height, int halvings);

// In words, for messages.
std::string describe(const Box& box);
std::string describe_image(std::int64_t width, std::int64_t height, int halvings);

}  // namespace dts
