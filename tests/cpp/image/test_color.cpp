// SPDX-License-Identifier: Apache-2.0
#include "image/color.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "image/pictures.h"

namespace dts {
namespace {

using testing::Picture;
using testing::random_picture;

using Adjust = void (*)(const ImageView&, double);
constexpr Adjust kAdjusts[] = {adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue};
void autocontrast_any(const ImageView& image, double) { autocontrast(image); }

// The same pixels as in one piece, whatever lies between rows, which stays as it is.
TEST_CASE("color: rows may lie apart") {
  testing::Random random(5);
  for (const std::int64_t channels : {1, 3}) {
    for (const std::int64_t width : {1, 9, 10, 33, 70}) {
      const Picture apart = random_picture(random, 6, width, channels, 0, 7);
      Picture together(6, width, channels);
      together.bytes = apart.pixels();
      for (const Adjust adjust :
           {adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue, &autocontrast_any}) {
        Picture a = apart, b = together;
        adjust(a.view(), 0.4);
        adjust(b.view(), 0.4);
        CHECK(a.pixels() == b.pixels());
        CHECK(a.is_padding_untouched());
      }
    }
  }
}

// 1 and 2 have a mean of 1.5, which counts as 2; 1, 1 and 2 of 1.33, as 1.
TEST_CASE("color: the mean of contrast is rounded, halves up") {
  Picture two(1, 2, 1), three(1, 3, 1);
  two.bytes = {1, 2};
  three.bytes = {1, 1, 2};
  adjust_contrast(two.view(), 0);
  adjust_contrast(three.view(), 0);
  CHECK(two.bytes == std::vector<std::uint8_t>{2, 2});
  CHECK(three.bytes == std::vector<std::uint8_t>{1, 1, 1});
}

TEST_CASE("color: gray pixels have no hue") {
  Picture picture(1, 256, 3);
  for (int i = 0; i < 256; ++i) std::fill_n(picture.at(0, i), 3, static_cast<std::uint8_t>(i));
  Picture shifted = picture;
  adjust_hue(shifted.view(), 0.3);
  CHECK(shifted.bytes == picture.bytes);
}

// 0.3 * 255 is 76.5: whole steps are taken, towards 0 on both sides.
TEST_CASE("color: the hue moves by whole steps") {
  testing::Random random(9);
  const Picture source = random_picture(random, 5, 40, 3);
  const auto shifted = [&](double factor) {
    Picture picture = source;
    adjust_hue(picture.view(), factor);
    return picture.bytes;
  };
  CHECK(shifted(0.3) == shifted(76.01 / 255));
  CHECK(shifted(0.3) != shifted(77.01 / 255));
  CHECK(shifted(-0.3) == shifted(-76.01 / 255));
  CHECK(shifted(0.003) == shifted(-0.003));
}

TEST_CASE("color: autocontrast leaves a channel of one value as it is") {
  Picture picture(1, 3, 3);
  picture.bytes = {10, 77, 0, 20, 77, 255, 30, 77, 3};
  autocontrast(picture.view());
  CHECK(picture.bytes == std::vector<std::uint8_t>{0, 77, 0, 127, 77, 255, 255, 77, 3});
}

TEST_CASE("color: images without pixels") {
  const ImageView none = {nullptr, 0, 5, 3, 15};
  for (const Adjust adjust : kAdjusts) CHECK_NOTHROW(adjust(none, 0.5));
  CHECK_NOTHROW(autocontrast(none));
  CHECK_NOTHROW(to_grayscale(none, {nullptr, 0, 5, 1, 5}));
}

TEST_CASE("color: arguments that make no sense") {
  Picture rgb(2, 3, 3), rgba(2, 3, 4), gray(2, 3, 1), wide(2, 4, 1);
  for (const Adjust adjust : kAdjusts) {
    CHECK_THROWS_WITH_AS(adjust(rgba.view(), 0.5),
                         "a colour operation needs an image of 1 or 3 channels, not 4",
                         InvalidArgument);
    CHECK_THROWS_AS(adjust(rgb.view(), std::nan("")), InvalidArgument);
    CHECK_THROWS_AS(adjust(gray.view(), std::numeric_limits<double>::infinity()), InvalidArgument);
    CHECK_THROWS_AS(adjust(rgb.view(), 1e300), InvalidArgument);
  }
  CHECK_THROWS_WITH_AS(adjust_brightness(rgb.view(), std::numeric_limits<double>::infinity()),
                       "brightness factor must be a finite number, not inf", InvalidArgument);
  CHECK_THROWS_WITH_AS(adjust_hue(rgb.view(), 0.75),
                       "hue factor must be in [-0.5, 0.5], not 0.750000", InvalidArgument);
  CHECK_THROWS_AS(adjust_hue(rgb.view(), -0.51), InvalidArgument);
  CHECK_THROWS_AS(autocontrast(rgba.view()), InvalidArgument);
  CHECK_THROWS_AS(to_grayscale(rgb.view(), rgba.view()), InvalidArgument);
  CHECK_THROWS_WITH_AS(to_grayscale(rgb.view(), wide.view()), "the gray image must be 3x2, not 4x2",
                       InvalidArgument);
}

}  // namespace
}  // namespace dts
