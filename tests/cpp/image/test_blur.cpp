// SPDX-License-Identifier: Apache-2.0
#include "image/blur.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "image/pictures.h"

namespace dts {
namespace {

using testing::pattern_picture;
using testing::Picture;

Picture blur(Picture picture, std::array<std::int64_t, 2> kernel, std::array<double, 2> sigma) {
  Scratch scratch;
  gaussian_blur(picture.view(), kernel, sigma, scratch);
  return picture;
}

TEST_CASE("blur: torchvision's values of a small gray image") {
  const Picture source = pattern_picture(6, 8, 1);
  using Bytes = std::vector<std::uint8_t>;
  CHECK(blur(source, {3, 3}, {0.8, 0.8}).bytes ==
        Bytes{48,  70,  113, 155, 168, 146, 127, 112, 82,  107, 140, 156, 158, 136, 123, 113,
              146, 162, 158, 132, 130, 125, 123, 116, 181, 169, 139, 131, 123, 108, 117, 119,
              150, 139, 142, 145, 126, 129, 132, 121, 116, 127, 152, 140, 131, 157, 144, 123});
  CHECK(blur(source, {5, 3}, {1.3, 0.7}).bytes ==
        Bytes{61,  75,  108, 139, 155, 147, 134, 124, 101, 111, 137, 153, 152, 136, 124, 116,
              159, 156, 150, 138, 130, 125, 126, 122, 173, 164, 147, 131, 120, 114, 114, 113,
              142, 143, 142, 137, 134, 129, 128, 129, 125, 130, 139, 142, 144, 145, 141, 140});
  CHECK(blur(source, {1, 7}, {1.0, 2.0}).bytes ==
        Bytes{78,  130, 146, 130, 182, 100, 151, 80, 91,  127, 147, 135, 171, 102, 156, 77,
              108, 135, 147, 134, 161, 106, 149, 87, 135, 137, 150, 136, 138, 117, 152, 87,
              155, 141, 150, 142, 128, 119, 145, 97, 161, 141, 151, 138, 117, 128, 150, 94});
}

std::vector<double> bell(std::int64_t size, double sigma) {
  std::vector<double> weights;
  double sum = 0;
  for (std::int64_t i = -(size / 2); i <= size / 2; ++i) {
    weights.push_back(std::exp(-static_cast<double>(i * i) / (2 * sigma * sigma)));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

std::int64_t mirrored(std::int64_t at, std::int64_t size) {
  return at < 0 ? -at : at >= size ? 2 * size - 2 - at : at;
}

// The true sum of one value, both dimensions at once.
double exact(const Picture& source, std::int64_t y, std::int64_t x, std::int64_t c,
             const std::vector<double>& across, const std::vector<double>& down) {
  double sum = 0;
  for (std::size_t v = 0; v < down.size(); ++v) {
    const auto from_y =
        y + static_cast<std::int64_t>(v) - static_cast<std::int64_t>(down.size() / 2);
    double row = 0;
    for (std::size_t u = 0; u < across.size(); ++u) {
      const auto from_x =
          x + static_cast<std::int64_t>(u) - static_cast<std::int64_t>(across.size() / 2);
      row +=
          across[u] * source.at(mirrored(from_y, source.height), mirrored(from_x, source.width))[c];
    }
    sum += down[v] * row;
  }
  return sum;
}

TEST_CASE("blur: random images, beside the true sums") {
  testing::Random random(29);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t height = testing::draw(random, 1, 14), width = testing::draw(random, 1, 40);
    const Picture source = testing::random_picture(random, height, width, round % 2 == 0 ? 3 : 1,
                                                   round % 3 == 0, round % 4);
    const std::int64_t across = testing::draw(random, 0, std::min<std::int64_t>(width - 1, 6)),
                       down = testing::draw(random, 0, std::min<std::int64_t>(height - 1, 6));
    const double sigma_x = static_cast<double>(testing::draw(random, 1, 40)) / 10,
                 sigma_y = static_cast<double>(testing::draw(random, 1, 40)) / 10;
    const Picture blurred = blur(source, {2 * across + 1, 2 * down + 1}, {sigma_x, sigma_y});
    const auto weights_x = bell(2 * across + 1, sigma_x), weights_y = bell(2 * down + 1, sigma_y);
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        for (std::int64_t c = 0; c < source.channels; ++c) {
          const double sum = exact(source, y, x, c, weights_x, weights_y);
          REQUIRE(std::fabs(blurred.at(y, x)[c] - sum) < 0.5 + 1e-4);
        }
      }
    }
    CHECK(blurred.is_padding_untouched());
  }
}

TEST_CASE("blur: an even image and a kernel of one stay as they are") {
  for (int value = 0; value < 256; ++value) {
    Picture even(5, 9, 3);
    std::fill(even.bytes.begin(), even.bytes.end(), static_cast<std::uint8_t>(value));
    REQUIRE(blur(even, {9, 5}, {1.7, 0.9}).bytes == even.bytes);
  }
  const Picture source = pattern_picture(3, 4, 3);
  CHECK(blur(source, {1, 1}, {3.0, 3.0}).bytes == source.bytes);
  CHECK(blur(source, {3, 3}, {1e-30, 1e-3}).bytes == source.bytes);
}

TEST_CASE("blur: arguments that make no sense") {
  const Picture source = pattern_picture(4, 5, 3);
  CHECK_THROWS_WITH_AS(blur(source, {4, 3}, {1, 1}),
                       "the blur's kernel width must be odd and at least 1, not 4",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(blur(source, {3, -1}, {1, 1}),
                       "the blur's kernel height must be odd and at least 1, not -1",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(blur(source, {3, 3}, {1, 0}),
                       "the blur's sigma of the height must be a positive finite number, not "
                       "0.000000",
                       InvalidArgument);
  CHECK_THROWS_AS(blur(source, {3, 3}, {std::nan(""), 1}), InvalidArgument);
  CHECK_THROWS_AS(blur(source, {3, 3}, {std::numeric_limits<double>::infinity(), 1}),
                  InvalidArgument);
  CHECK_NOTHROW(blur(source, {9, 7}, {1, 1}));
  CHECK_THROWS_WITH_AS(blur(source, {9, 9}, {1, 1}),
                       "a blur with a kernel height of 9 needs an image height of at least 5, "
                       "not 4",
                       InvalidArgument);
  Scratch scratch;
  CHECK_NOTHROW(gaussian_blur({nullptr, 0, 5, 3, 15}, {3, 3}, {1, 1}, scratch));
}

}  // namespace
}  // namespace dts
