// SPDX-License-Identifier: Apache-2.0
#include "image/pad.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"

namespace dts {
namespace {

std::string size_text(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels);
}

// The part of an axis that negative padding leaves: pixels [begin, begin + size) of the image.
struct Kept {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

Kept kept_part(std::int64_t size, std::int64_t before, std::int64_t after) {
  const std::int64_t begin = std::max<std::int64_t>(0, -before);
  return {begin, size - begin - std::max<std::int64_t>(0, -after)};
}

// Where position `at` of the kept part, outside or inside, takes its pixel from. Mirrors
// repeat as often as it takes.
std::int64_t source_of(std::int64_t at, std::int64_t size, PadMode mode) {
  if (at >= 0 && at < size) return at;
  if (mode == PadMode::kEdge || size == 1) return at < 0 ? 0 : size - 1;
  const std::int64_t period = mode == PadMode::kReflect ? 2 * (size - 1) : 2 * size;
  const std::int64_t phase = ((at % period) + period) % period;
  if (phase < size) return phase;
  return mode == PadMode::kReflect ? period - phase : period - 1 - phase;
}

void fill_pixels(std::uint8_t* to, std::int64_t count, std::int64_t channels,
                 std::span<const std::uint8_t> fill) {
  if (fill.size() <= 1) {
    std::memset(to, fill.empty() ? 0 : fill[0], static_cast<std::size_t>(count * channels));
    return;
  }
  for (std::int64_t i = 0; i < count; ++i, to += channels) {
    std::copy(fill.begin(), fill.end(), to);
  }
}

void pad_constant(const ConstImageView& image, std::int64_t left, std::int64_t top,
                  std::span<const std::uint8_t> fill, const ImageView& out) {
  // The image's pixels that are seen, in columns of `out`.
  const std::int64_t begin = std::clamp<std::int64_t>(left, 0, out.width);
  const std::int64_t end = std::clamp<std::int64_t>(left + image.width, begin, out.width);
  for (std::int64_t y = 0; y < out.height; ++y) {
    std::uint8_t* const row = out.row(y);
    const std::int64_t from = y - top;
    if (from < 0 || from >= image.height || end == begin) {
      fill_pixels(row, out.width, out.channels, fill);
      continue;
    }
    fill_pixels(row, begin, out.channels, fill);
    std::memcpy(row + begin * out.channels, image.row(from) + (begin - left) * out.channels,
                static_cast<std::size_t>((end - begin) * out.channels));
    fill_pixels(row + end * out.channels, out.width - end, out.channels, fill);
  }
}

void pad_from_image(const ConstImageView& image, const std::array<std::int64_t, 4>& padding,
                    PadMode mode, const ImageView& out) {
  const Kept columns = kept_part(image.width, padding[0], padding[2]);
  const Kept rows = kept_part(image.height, padding[1], padding[3]);
  if (columns.size <= 0 || rows.size <= 0) {
    throw InvalidArgument("negative padding leaves nothing of an image of " +
                          size_text(image.height, image.width, image.channels) +
                          " to take the border from");
  }
  const std::int64_t left = std::max<std::int64_t>(0, padding[0]);
  const std::int64_t top = std::max<std::int64_t>(0, padding[1]);
  const std::int64_t channels = image.channels;
  for (std::int64_t y = 0; y < out.height; ++y) {
    const std::uint8_t* const from =
        image.row(rows.begin + source_of(y - top, rows.size, mode)) + columns.begin * channels;
    std::uint8_t* const row = out.row(y);
    const auto copy_pixel = [&](std::int64_t x) {
      const std::uint8_t* const pixel = from + source_of(x - left, columns.size, mode) * channels;
      for (std::int64_t c = 0; c < channels; ++c) row[x * channels + c] = pixel[c];
    };
    for (std::int64_t x = 0; x < left; ++x) copy_pixel(x);
    std::memcpy(row + left * channels, from, static_cast<std::size_t>(columns.size * channels));
    for (std::int64_t x = left + columns.size; x < out.width; ++x) copy_pixel(x);
  }
}

}  // namespace

void pad_image(const ConstImageView& image, const std::array<std::int64_t, 4>& padding,
               PadMode mode, std::span<const std::uint8_t> fill, const ImageView& out) {
  const auto [left, top, right, bottom] = padding;
  const std::int64_t height = image.height + top + bottom;
  const std::int64_t width = image.width + left + right;
  if (out.height != height || out.width != width || out.channels != image.channels) {
    throw InvalidArgument("the padded image must be " + size_text(height, width, image.channels) +
                          ", not " + size_text(out.height, out.width, out.channels));
  }
  if (fill.size() > 1 && static_cast<std::int64_t>(fill.size()) != image.channels) {
    throw InvalidArgument("the fill must have 1 or " + std::to_string(image.channels) +
                          " values, not " + std::to_string(fill.size()));
  }
  if (out.height == 0 || out.width == 0) return;
  if (mode == PadMode::kConstant) {
    pad_constant(image, left, top, fill, out);
  } else {
    pad_from_image(image, padding, mode, out);
  }
}

}  // namespace dts
