// SPDX-License-Identifier: Apache-2.0
#include "pipeline/step_sizes.h"

#include <algorithm>
#include <cmath>

namespace dts {
namespace {

// int(a * b / c) of Python: the true quotient rounded to a double, then cut off. The
// product is below 2^53.
std::int64_t scaled(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<std::int64_t>(static_cast<double>(a * b) / static_cast<double>(c));
}

// Where a centred crop begins. A larger one begins outside, by half of what is missing,
// rounded down; a smaller one inside, by half, rounded to even.
std::int64_t center_start(std::int64_t outer, std::int64_t inner) {
  if (inner > outer) return -((inner - outer) / 2);
  return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(outer - inner) / 2.0));
}

}  // namespace

ImageSize resized_size(const Step& step, const ImageSize& image) {
  if (step.width != 0) return {step.height, step.width};
  const std::int64_t shorter = std::min(image.height, image.width);
  const std::int64_t longer = std::max(image.height, image.width);
  std::int64_t new_shorter = step.height;
  std::int64_t new_longer = scaled(step.height, longer, shorter);
  if (step.max_size != 0 && new_longer > step.max_size) {
    new_shorter = scaled(step.max_size, new_shorter, new_longer);
    new_longer = step.max_size;
  }
  if (image.width <= image.height) return {new_longer, new_shorter};
  return {new_shorter, new_longer};
}

Box center_crop_box(const Step& step, const ImageSize& image) {
  return {center_start(image.height, step.height), center_start(image.width, step.width),
          step.height, step.width};
}

ImageSize needed_padding(const Step& step, const ImageSize& image) {
  if (!step.pad_if_needed) return {};
  return {std::max<std::int64_t>(step.height - image.height, 0),
          std::max<std::int64_t>(step.width - image.width, 0)};
}

std::array<std::int64_t, 4> overhang(const Box& box, const ImageSize& image) {
  const std::int64_t none = 0;
  return {std::max(-box.left, none), std::max(-box.top, none),
          std::max(box.left + box.width - image.width, none),
          std::max(box.top + box.height - image.height, none)};
}

}  // namespace dts
