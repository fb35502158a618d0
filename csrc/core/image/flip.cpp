// SPDX-License-Identifier: Apache-2.0
#include "image/flip.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "image/convert_kernels.h"

namespace dts {
namespace {

// Pixels that are turned at a time, on the stack: no memory of the caller is needed.
constexpr std::int64_t kBlock = 320;
using Block = std::array<std::uint8_t, kBlock * 4 + kRowSlack>;

void turn(const std::uint8_t* pixels, std::int64_t count, std::int64_t channels,
          std::uint8_t* out) {
  if (channels == 1) {
    convert_kernels(best_simd_level()).flip_gray(pixels, count, out);
  } else if (channels == 3) {
    convert_kernels(best_simd_level()).flip_rgb(pixels, count, out);
  } else {
    for (std::int64_t i = count - 1; i >= 0; --i, out += channels) {
      std::memcpy(out, pixels + i * channels, static_cast<std::size_t>(channels));
    }
  }
}

}  // namespace

void flip_horizontal(const ImageView& image) {
  Block left, right;
  const std::int64_t channels = image.channels;
  for (std::int64_t y = 0; y < image.height; ++y) {
    std::uint8_t* begin = image.row(y);
    std::uint8_t* end = begin + image.width * channels;
    for (std::int64_t count = image.width; count > 0;) {
      // A block of either end takes the other's place; what remains at last turns in its own.
      const bool is_last = count <= kBlock;
      const std::int64_t taken = is_last ? count : std::min(kBlock, count / 2);
      const auto bytes = static_cast<std::size_t>(taken * channels);
      turn(begin, taken, channels, left.data());
      if (!is_last) {
        turn(end - bytes, taken, channels, right.data());
        std::memcpy(begin, right.data(), bytes);
      }
      std::memcpy(end - bytes, left.data(), bytes);
      begin += bytes;
      end -= bytes;
      count -= is_last ? taken : 2 * taken;
    }
  }
}

void flip_vertical(const ImageView& image) {
  Block block;
  const std::int64_t row_bytes = image.width * image.channels;
  for (std::int64_t y = 0; y < image.height / 2; ++y) {
    std::uint8_t* const top = image.row(y);
    std::uint8_t* const bottom = image.row(image.height - 1 - y);
    for (std::int64_t at = 0; at < row_bytes;) {
      const auto bytes = static_cast<std::size_t>(
          std::min(row_bytes - at, static_cast<std::int64_t>(block.size())));
      std::memcpy(block.data(), top + at, bytes);
      std::memcpy(top + at, bottom + at, bytes);
      std::memcpy(bottom + at, block.data(), bytes);
      at += static_cast<std::int64_t>(bytes);
    }
  }
}

}  // namespace dts
