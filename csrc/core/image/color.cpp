// SPDX-License-Identifier: Apache-2.0
#include "image/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "base/error.h"
#include "image/color_kernels.h"

namespace dts {
namespace {

using ByteTable = std::array<std::uint8_t, 256>;

const ColorKernels& kernels() { return color_kernels(best_simd_level()); }

void check_channels(const ConstImageView& image) {
  if (image.channels == 1 || image.channels == 3) return;
  throw InvalidArgument("a colour operation needs an image of 1 or 3 channels, not " +
                        std::to_string(image.channels));
}

// Pillow takes factors as float32.
float check_factor(double factor, const char* name) {
  const auto alpha = static_cast<float>(factor);
  if (std::isfinite(alpha)) return alpha;
  throw InvalidArgument(std::string(name) + " factor must be a finite number, not " +
                        std::to_string(factor));
}

// Calls `row(pixels, count)` for each row, or once where rows touch each other.
template <class View, class Row>
void for_rows(const View& image, Row row) {
  if (image.stride == image.width * image.channels) {
    row(image.row(0), image.width * image.height);
    return;
  }
  for (std::int64_t y = 0; y < image.height; ++y) row(image.row(y), image.width);
}

void blend_with(const ImageView& image, float base, float alpha) {
  if (alpha == 1.0F) return;
  ByteTable table;
  for (int i = 0; i < 256; ++i) {
    table[static_cast<std::size_t>(i)] = blend_byte(static_cast<std::uint8_t>(i), base, alpha);
  }
  const ValueBlend blend = {base, alpha, table.data()};
  for_rows(image, [&](std::uint8_t* pixels, std::int64_t count) {
    kernels().blend_value(pixels, count * image.channels, blend);
  });
}

// The mean of the gray image, halves up.
float mean_gray(const ConstImageView& image) {
  std::int64_t sum = 0;
  for_rows(image, [&](const std::uint8_t* pixels, std::int64_t count) {
    if (image.channels == 3) {
      sum += kernels().sum_gray(pixels, count);
    } else {
      for (std::int64_t i = 0; i < count; ++i) sum += pixels[i];
    }
  });
  const auto num_pixels = static_cast<double>(image.width * image.height);
  return static_cast<float>(std::floor(static_cast<double>(sum) / num_pixels + 0.5));
}

void gray_row(const std::uint8_t* pixels, std::int64_t channels, std::int64_t count,
              std::uint8_t* out, std::int64_t out_channels) {
  if (channels == 3 && out_channels == 1) return kernels().to_gray(pixels, count, out);
  if (channels < out_channels) {
    for (std::int64_t i = 0; i < count; ++i, out += 3) std::fill_n(out, 3, pixels[i]);
    return;
  }
  std::copy_n(pixels, count * channels, out);
  if (channels == 3) kernels().blend_gray(out, count, 0.0F);  // nothing but gray
}

// The table that spreads the values of a channel over 0..255; unchanged where it has one only.
ByteTable spread_table(const std::array<std::uint32_t, 256>& counts) {
  ByteTable table;
  int low = 0, high = 255;
  while (low < 255 && counts[static_cast<std::size_t>(low)] == 0) ++low;
  while (high > 0 && counts[static_cast<std::size_t>(high)] == 0) --high;
  const double scale = 255.0 / (high - low);
  const double offset = -low * scale;
  for (int i = 0; i < 256; ++i) {
    const double value = high > low ? i * scale + offset : i;
    table[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
  }
  return table;
}

bool is_empty(const ConstImageView& image) { return image.width <= 0 || image.height <= 0; }

}  // namespace

void adjust_brightness(const ImageView& image, double factor) {
  check_channels(image);
  const float alpha = check_factor(factor, "brightness");
  if (!is_empty(image)) blend_with(image, 0.0F, alpha);
}

void adjust_contrast(const ImageView& image, double factor) {
  check_channels(image);
  const float alpha = check_factor(factor, "contrast");
  if (!is_empty(image) && alpha != 1.0F) blend_with(image, mean_gray(image), alpha);
}

void adjust_saturation(const ImageView& image, double factor) {
  check_channels(image);
  const float alpha = check_factor(factor, "saturation");
  if (is_empty(image) || image.channels == 1 || alpha == 1.0F) return;
  for_rows(image, [&](std::uint8_t* pixels, std::int64_t count) {
    kernels().blend_gray(pixels, count, alpha);
  });
}

void adjust_hue(const ImageView& image, double factor) {
  check_channels(image);
  if (!(factor >= -0.5 && factor <= 0.5)) {
    throw InvalidArgument("hue factor must be in [-0.5, 0.5], not " + std::to_string(factor));
  }
  if (is_empty(image) || image.channels == 1) return;
  // Toward 0, then modulo 256. A shift of 0 still goes through 8-bit HSV.
  const auto shift = static_cast<std::uint8_t>(static_cast<int>(factor * 255));
  for_rows(image, [&](std::uint8_t* pixels, std::int64_t count) {
    kernels().shift_hue(pixels, count, shift);
  });
}

void to_grayscale(const ConstImageView& image, const ImageView& out) {
  check_channels(image);
  check_channels(out);
  if (out.width != image.width || out.height != image.height) {
    throw InvalidArgument("the gray image must be " + std::to_string(image.width) + "x" +
                          std::to_string(image.height) + ", not " + std::to_string(out.width) +
                          "x" + std::to_string(out.height));
  }
  const bool is_one_row =
      image.stride == image.width * image.channels && out.stride == out.width * out.channels;
  const std::int64_t num_rows = is_one_row ? 1 : image.height;
  const std::int64_t count = is_one_row ? image.width * image.height : image.width;
  for (std::int64_t y = 0; y < num_rows; ++y) {
    gray_row(image.row(y), image.channels, count, out.row(y), out.channels);
  }
}

void autocontrast(const ImageView& image) {
  check_channels(image);
  if (is_empty(image)) return;
  const auto channels = static_cast<std::size_t>(image.channels);
  std::array<std::array<std::uint32_t, 256>, 3> counts = {};
  for_rows(image, [&](const std::uint8_t* pixels, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < channels; ++c) ++counts[c][*pixels++];
    }
  });
  std::array<ByteTable, 3> tables;
  for (std::size_t c = 0; c < channels; ++c) tables[c] = spread_table(counts[c]);
  for_rows(image, [&](std::uint8_t* pixels, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::size_t c = 0; c < channels; ++c, ++pixels) *pixels = tables[c][*pixels];
    }
  });
}

}  // namespace dts
