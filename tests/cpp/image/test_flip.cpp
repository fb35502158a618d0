// SPDX-License-Identifier: Apache-2.0
#include "image/flip.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "image/pictures.h"

namespace dts {
namespace {

using testing::Picture;
using testing::random_picture;

void check(const Picture& source, bool is_horizontal) {
  Picture flipped = source;
  is_horizontal ? flip_horizontal(flipped.view()) : flip_vertical(flipped.view());
  for (std::int64_t y = 0; y < source.height; ++y) {
    for (std::int64_t x = 0; x < source.width; ++x) {
      const std::uint8_t* const from =
          is_horizontal ? source.at(y, source.width - 1 - x) : source.at(source.height - 1 - y, x);
      REQUIRE(std::equal(from, from + source.channels, flipped.at(y, x)));
    }
  }
  CHECK(flipped.is_padding_untouched());
}

TEST_CASE("flip: every pixel in its mirror's place") {
  testing::Random random(3);
  for (const std::int64_t channels : {1, 3, 4}) {
    for (std::int64_t width = 1; width < 40; ++width) {
      for (const std::int64_t height : {1, 2, 5}) {
        check(random_picture(random, height, width, channels, 0, width % 3), true);
        check(random_picture(random, height, width, channels, 0, width % 3), false);
      }
    }
  }
}

// Around the pieces in which rows are turned.
TEST_CASE("flip: long rows") {
  testing::Random random(4);
  for (const std::int64_t channels : {1, 3, 4}) {
    for (const std::int64_t width : {319, 320, 321, 639, 640, 641, 1281, 5000}) {
      check(random_picture(random, 2, width, channels, 0, 1), true);
      check(random_picture(random, 3, width, channels, 0, 1), false);
    }
  }
}

TEST_CASE("flip: images without pixels") {
  CHECK_NOTHROW(flip_horizontal({nullptr, 0, 3, 3, 9}));
  CHECK_NOTHROW(flip_vertical({nullptr, 0, 3, 3, 9}));
}

}  // namespace
}  // namespace dts
