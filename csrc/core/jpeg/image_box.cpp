// SPDX-License-Identifier: Apache-2.0
#include "jpeg/image_box.h"

#include <algorithm>

namespace dts {

bool is_inside(const Box& box, std::int64_t width, std::int64_t height, int halvings) {
  const std::int64_t columns = scaled_side(width, halvings), rows = scaled_side(height, halvings);
  return box.top >= 0 && box.left >= 0 && box.height > 0 && box.width > 0 && box.height <= rows &&
         box.top <= rows - box.height && box.width <= columns && box.left <= columns - box.width;
}

Box unscaled(const Box& box, std::int64_t width, std::int64_t height, int halvings) {
  const std::int64_t scale = std::int64_t{1} << halvings;
  const std::int64_t top = box.top * scale, left = box.left * scale;
  return {top, left, std::min(box.height * scale, height - top),
          std::min(box.width * scale, width - left)};
}

std::string describe(const Box& box) {
  return "the box of " + std::to_string(box.width) + " x " + std::to_string(box.height) +
         " pixels at column " + std::to_string(box.left) + ", row " + std::to_string(box.top);
}

std::string describe_image(std::int64_t width, std::int64_t height, int halvings) {
  return "the image of " + std::to_string(width) + " x " + std::to_string(height) +
         (halvings == 0 ? "" : " at 1/" + std::to_string(1 << halvings));
}

}  // namespace dts
