// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_outline.h"

#include <algorithm>
#include <cmath>

namespace dts {
namespace {

// One side of a box that is resized, of the result of which a window is wanted.
struct Side {
  std::int64_t begin = 0, size = 0;  // the part, in the box
  double roi_begin = 0, roi_end = 0;
};

Side side_of(std::int64_t box, std::int64_t resized, std::int64_t begin, std::int64_t size) {
  if (begin == 0 && size == resized) return {0, box, 0, static_cast<double>(box)};
  const double scale = static_cast<double>(box) / static_cast<double>(resized);
  // The triangle reaches so far from the centre of a pixel; one more is for the rounding.
  const double support = std::max(scale, 1.0) + 1;
  const double first = (static_cast<double>(begin) + 0.5) * scale - support;
  const double last = (static_cast<double>(begin + size) - 0.5) * scale + support;
  const auto low = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(first)), 0);
  const auto high = std::min<std::int64_t>(static_cast<std::int64_t>(std::ceil(last)), box);
  const auto offset = static_cast<double>(low);
  return {low, high - low, static_cast<double>(begin) * scale - offset,
          static_cast<double>(begin + size) * scale - offset};
}

std::int32_t narrow(std::int64_t value) { return static_cast<std::int32_t>(value); }

}  // namespace

bool can_outline(const FusedGeometry& geometry) {
  return !geometry.has_resize() || geometry.filter() == Filter::kBilinear;
}

SampleOutline outline_of(const FusedGeometry& geometry) {
  const Box& box = geometry.box();
  const Flips& before = geometry.flips_before();
  const Flips& after = geometry.flips_after();
  Box window = {0, 0, box.height, box.width};
  ImageSize resized = {box.height, box.width};
  if (geometry.has_resize()) {
    // A resize of the flipped image is the flipped image of a resize.
    resized = geometry.resized();
    window = mirrored(geometry.window(), resized, before);
  }
  const Side rows = side_of(box.height, resized.height, window.top, window.height);
  const Side columns = side_of(box.width, resized.width, window.left, window.width);
  SampleOutline outline;
  outline.top = narrow(box.top + rows.begin);
  outline.left = narrow(box.left + columns.begin);
  outline.height = narrow(rows.size);
  outline.width = narrow(columns.size);
  outline.roi_top = static_cast<float>(rows.roi_begin);
  outline.roi_bottom = static_cast<float>(rows.roi_end);
  outline.roi_left = static_cast<float>(columns.roi_begin);
  outline.roi_right = static_cast<float>(columns.roi_end);
  outline.flip_horizontal = before.horizontal != after.horizontal;
  outline.flip_vertical = before.vertical != after.vertical;
  return outline;
}

}  // namespace dts
