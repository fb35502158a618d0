// SPDX-License-Identifier: Apache-2.0
#include "pipeline/scaled_source.h"

#include <algorithm>

#include "jpeg/image_box.h"

namespace dts {
namespace {

// Pixels [begin, end) of a side.
struct Range {
  std::int64_t begin = 0, end = 0;
};

Range scaled(std::int64_t begin, std::int64_t length, int halvings) {
  return {begin >> halvings, scaled_side(begin + length, halvings)};
}

Range widened(const Range& range, std::int64_t side) {
  return {std::max<std::int64_t>(range.begin - 1, 0), std::min(range.end + 1, side)};
}

}  // namespace

int possible_halvings(const FusedGeometry& geometry) {
  if (!geometry.has_resize()) return 0;
  // They take the nearest pixels of the small picture, which lie up to half of one beside the
  // place.
  if (geometry.filter() == Filter::kNearest || geometry.filter() == Filter::kBox) return 0;
  const Box& box = geometry.box();
  const ImageSize& to = geometry.resized();
  int halvings = 0;
  while (halvings < kMaxHalvings && box.width >> (halvings + 1) >= to.width &&
         box.height >> (halvings + 1) >= to.height) {
    ++halvings;
  }
  return halvings;
}

ScaledSource scaled_source(const FusedGeometry& geometry, int halvings) {
  const Box& box = geometry.box();
  const Flips& flips = geometry.flips_before();
  const Range rows = scaled(box.top, box.height, halvings);
  const Range columns = scaled(box.left, box.width, halvings);
  const double scale = 1.0 / (1 << halvings);
  const auto place = [&](std::int64_t begin, std::int64_t length, const Range& range, bool flip) {
    return flip ? static_cast<double>(range.end) - static_cast<double>(begin + length) * scale
                : static_cast<double>(begin) * scale - static_cast<double>(range.begin);
  };
  return {{rows.begin, columns.begin, rows.end - rows.begin, columns.end - columns.begin},
          {place(box.left, box.width, columns, flips.horizontal),
           place(box.top, box.height, rows, flips.vertical), static_cast<double>(box.width) * scale,
           static_cast<double>(box.height) * scale}};
}

Box scaled_around(const Box& box, const ImageSize& source, int halvings) {
  const Range rows =
      widened(scaled(box.top, box.height, halvings), scaled_side(source.height, halvings));
  const Range columns =
      widened(scaled(box.left, box.width, halvings), scaled_side(source.width, halvings));
  return {rows.begin, columns.begin, rows.end - rows.begin, columns.end - columns.begin};
}

}  // namespace dts
