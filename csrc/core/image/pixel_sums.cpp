// SPDX-License-Identifier: Apache-2.0
#include "image/pixel_sums.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace dts {
namespace {

// Byte j of each piece of 48 is added to lane j: 48 is a multiple of 3, so that a lane
// belongs to one channel, and of a vector's width, so that the compiler needs no shuffles.
constexpr std::int64_t kLanes = 48;
// 255^2 times this fits into 32 bits.
constexpr std::int64_t kMostPieces = 65536;

struct Lanes {
  std::uint32_t sums[kLanes] = {};
  std::uint32_t squares[kLanes] = {};
};

void add_pieces(const std::uint8_t* bytes, std::int64_t num_pieces, Lanes& lanes) {
  for (std::int64_t piece = 0; piece < num_pieces; ++piece, bytes += kLanes) {
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const std::uint32_t value = bytes[j];
      lanes.sums[j] += value;
      lanes.squares[j] += value * value;
    }
  }
}

// `bytes` starts with the first channel of a pixel.
void add_row(const std::uint8_t* bytes, std::int64_t num_bytes, std::int64_t channels,
             PixelSums& total) {
  while (num_bytes >= kLanes) {
    const std::int64_t num_pieces = std::min(num_bytes / kLanes, kMostPieces);
    Lanes lanes;
    add_pieces(bytes, num_pieces, lanes);
    for (std::int64_t j = 0; j < kLanes; ++j) {
      const auto channel = static_cast<std::size_t>(j % channels);
      total.sums[channel] += lanes.sums[j];
      total.squares[channel] += lanes.squares[j];
    }
    bytes += num_pieces * kLanes;
    num_bytes -= num_pieces * kLanes;
  }
  for (std::int64_t j = 0; j < num_bytes; ++j) {
    const auto channel = static_cast<std::size_t>(j % channels);
    const std::int64_t value = bytes[j];
    total.sums[channel] += value;
    total.squares[channel] += value * value;
  }
}

}  // namespace

PixelSums pixel_sums(const ConstImageView& image) {
  if (image.channels != 1 && image.channels != 3) {
    throw InvalidArgument(std::to_string(image.channels) + " channels, expected 1 or 3");
  }
  PixelSums total;
  total.num_pixels = image.height * image.width;
  const std::int64_t row_bytes = image.width * image.channels;
  if (image.stride == row_bytes) {  // small images have short rows: their ends are the slow part
    add_row(image.data, image.height * row_bytes, image.channels, total);
  } else {
    for (std::int64_t y = 0; y < image.height; ++y) {
      add_row(image.row(y), row_bytes, image.channels, total);
    }
  }
  if (image.channels == 1) {
    total.sums.fill(total.sums[0]);
    total.squares.fill(total.squares[0]);
  }
  return total;
}

}  // namespace dts
