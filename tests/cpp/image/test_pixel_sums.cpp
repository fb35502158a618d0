// SPDX-License-Identifier: Apache-2.0
// Sums of pixels against a plain loop.
#include "image/pixel_sums.h"

#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "base/error.h"

namespace dts {
namespace {

PixelSums plain(const ConstImageView& image) {
  PixelSums total;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      ++total.num_pixels;
      for (std::size_t c = 0; c < 3; ++c) {
        const std::int64_t channel = image.channels == 1 ? 0 : static_cast<std::int64_t>(c);
        const std::int64_t value = image.row(y)[x * image.channels + channel];
        total.sums[c] += value;
        total.squares[c] += value * value;
      }
    }
  }
  return total;
}

void check_equal(const PixelSums& found, const PixelSums& expected) {
  CHECK(found.num_pixels == expected.num_pixels);
  CHECK(found.sums == expected.sums);
  CHECK(found.squares == expected.squares);
}

TEST_CASE("pixel_sums: every width, gray and RGB, with and without gaps between rows") {
  std::mt19937 random(7);
  for (const std::int64_t channels : {1, 3}) {
    for (std::int64_t width = 1; width <= 70; ++width) {
      for (const std::int64_t gap : {0, 5}) {
        const std::int64_t stride = width * channels + gap;
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(3 * stride));
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        const ConstImageView image{bytes.data(), 3, width, channels, stride};
        check_equal(pixel_sums(image), plain(image));
      }
    }
  }
}

TEST_CASE("pixel_sums: the largest values of a large image do not overflow") {
  const std::int64_t width = 48 * 65536 / 3 + 17;
  const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(2 * width * 3), 255);
  const PixelSums found = pixel_sums({bytes.data(), 2, width, 3, width * 3});
  CHECK(found.num_pixels == 2 * width);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(found.sums[c] == 2 * width * 255);
    CHECK(found.squares[c] == 2 * width * 65025);
  }
}

TEST_CASE("pixel_sums: no pixels, and other numbers of channels") {
  check_equal(pixel_sums({nullptr, 0, 0, 3, 0}), PixelSums{});
  const std::uint8_t bytes[4] = {};
  CHECK_THROWS_WITH_AS(pixel_sums({bytes, 1, 1, 4, 4}), "4 channels, expected 1 or 3",
                       InvalidArgument);
}

}  // namespace
}  // namespace dts
