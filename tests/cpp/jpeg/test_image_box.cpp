// SPDX-License-Identifier: Apache-2.0
#include "jpeg/image_box.h"

#include <doctest/doctest.h>

using dts::Box;
using dts::is_inside;
using dts::scaled_side;
using dts::unscaled;

TEST_CASE("boxes of a picture at a part of its size") {
  CHECK(scaled_side(17, 0) == 17);
  CHECK(scaled_side(17, 1) == 9);
  CHECK(scaled_side(16, 2) == 4);
  CHECK(scaled_side(1, 3) == 1);
  CHECK(is_inside({0, 0, 5, 3}, 17, 33, 3));
  CHECK_FALSE(is_inside({0, 0, 6, 3}, 17, 33, 3));
  CHECK_FALSE(is_inside({0, 1, 5, 3}, 17, 33, 3));
  CHECK_FALSE(is_inside({0, 0, 0, 3}, 17, 33, 0));
  CHECK_FALSE(is_inside({-1, 0, 2, 3}, 17, 33, 0));
  CHECK(unscaled({1, 2, 3, 2}, 100, 90, 3) == Box{8, 16, 24, 16});
  CHECK(unscaled({4, 1, 1, 2}, 17, 33, 3) == Box{32, 8, 1, 9});  // ends with the picture
}

TEST_CASE("boxes and pictures in words") {
  CHECK(dts::describe({1, 2, 3, 4}) == "the box of 4 x 3 pixels at column 2, row 1");
  CHECK(dts::describe_image(40, 30, 0) == "the image of 40 x 30");
  CHECK(dts::describe_image(40, 30, 2) == "the image of 40 x 30 at 1/4");
}
