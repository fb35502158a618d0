// SPDX-License-Identifier: Apache-2.0
#include "image/resample_nearest.h"

#include <algorithm>
#include <cstring>

#include "image/scratch.h"

namespace dts {
namespace {

template <int channels>
void copy_pixels(const std::uint8_t* row, const std::vector<std::int32_t>& columns,
                 std::int64_t left, std::uint8_t* out) {
  for (const std::int32_t column : columns) {
    const std::uint8_t* pixel = row + (column - left) * channels;
    for (int c = 0; c < channels; ++c) *out++ = pixel[c];
  }
}

}  // namespace

void nearest_positions(const Axis& axis, std::vector<std::int32_t>* out) {
  const double scale = static_cast<double>(axis.in_size) / static_cast<double>(axis.out_size);
  resize_with_room(out, static_cast<std::size_t>(axis.count));
  // Pillow adds up from the first output; a product would round elsewhere.
  double position = scale * 0.5;
  for (std::int64_t i = 0; i < axis.begin; ++i) position += scale;
  for (std::int32_t& pixel : *out) {
    // Sums of sizes up to 2^24 never drift as far as the last pixel's end.
    pixel =
        static_cast<std::int32_t>(std::min(static_cast<std::int64_t>(position), axis.in_size - 1));
    position += scale;
  }
}

void copy_nearest(const ConstImageView& source, const std::vector<std::int32_t>& rows,
                  std::int64_t top, const std::vector<std::int32_t>& columns, std::int64_t left,
                  const ImageView& out) {
  for (std::int64_t y = 0; y < out.height; ++y) {
    const auto row = static_cast<std::size_t>(y);
    if (y > 0 && rows[row] == rows[row - 1]) {
      std::memcpy(out.row(y), out.row(y - 1), static_cast<std::size_t>(out.width * out.channels));
      continue;
    }
    const std::uint8_t* from = source.row(rows[row] - top);
    if (out.channels == 1) {
      copy_pixels<1>(from, columns, left, out.row(y));
    } else {
      copy_pixels<3>(from, columns, left, out.row(y));
    }
  }
}

}  // namespace dts
