// SPDX-License-Identifier: Apache-2.0
#include "pipeline/step_sizes.h"

#include "support.h"

namespace {

using dts::Box;
using dts::ImageSize;
using dts::Step;

Step resize(std::int64_t height, std::int64_t width, std::int64_t max_size = 0) {
  Step step;
  step.height = height;
  step.width = width;
  step.max_size = max_size;
  return step;
}

}  // namespace

// Answers of torchvision's functional.resize, as height x width.
TEST_CASE("resized_size follows the shorter side and cuts off fractions") {
  CHECK(dts::resized_size(resize(256, 0), {427, 640}) == ImageSize{256, 383});
  CHECK(dts::resized_size(resize(256, 0), {640, 427}) == ImageSize{383, 256});
  CHECK(dts::resized_size(resize(256, 0), {300, 300}) == ImageSize{256, 256});
  CHECK(dts::resized_size(resize(7, 0), {3, 10}) == ImageSize{7, 23});
  CHECK(dts::resized_size(resize(50, 0), {1, 65535}) == ImageSize{50, 3276750});
  CHECK(dts::resized_size(resize(30, 40), {427, 640}) == ImageSize{30, 40});
}

TEST_CASE("resized_size keeps the longer side within max_size") {
  CHECK(dts::resized_size(resize(256, 0, 300), {427, 640}) == ImageSize{200, 300});
  CHECK(dts::resized_size(resize(256, 0, 383), {427, 640}) == ImageSize{256, 383});
  CHECK(dts::resized_size(resize(256, 0, 300), {640, 427}) == ImageSize{300, 200});
  CHECK(dts::resized_size(resize(10, 0, 11), {1, 500}) == ImageSize{0, 11});
}

TEST_CASE("resized_size divides as Python does") {
  for (std::int64_t requested = 1; requested < 300; requested += 7) {
    for (std::int64_t shorter = 1; shorter < 90; shorter += 4) {
      for (std::int64_t longer = shorter; longer < 3 * shorter; ++longer) {
        const ImageSize size = dts::resized_size(resize(requested, 0), {shorter, longer});
        // A quotient of whole numbers this small is below a whole number or on it, and
        // its double, too.
        CHECK(size.width == requested * longer / shorter);
        CHECK(size.height == requested);
      }
    }
  }
}

TEST_CASE("center_crop_box rounds half to even inside and down outside") {
  const auto place = [](std::int64_t outer, std::int64_t inner) {
    const Box box = dts::center_crop_box(resize(inner, 2), {outer, 2});
    CHECK(box.height == inner);
    CHECK(box.left == 0);
    return box.top;
  };
  CHECK(place(10, 4) == 3);
  CHECK(place(9, 8) == 0);   // 0.5
  CHECK(place(11, 8) == 2);  // 1.5
  CHECK(place(13, 8) == 2);  // 2.5
  CHECK(place(8, 8) == 0);
  CHECK(place(7, 8) == 0);  // one row more below
  CHECK(place(5, 8) == -1);
  CHECK(place(4, 8) == -2);
}

TEST_CASE("needed_padding is added on both sides, and only where asked for") {
  Step step = resize(32, 40);
  CHECK(dts::needed_padding(step, {10, 10}) == ImageSize{});
  step.pad_if_needed = true;
  CHECK(dts::needed_padding(step, {10, 10}) == ImageSize{22, 30});
  CHECK(dts::needed_padding(step, {32, 39}) == ImageSize{0, 1});
  CHECK(dts::needed_padding(step, {100, 100}) == ImageSize{});
}

TEST_CASE("overhang tells how far a box reaches beyond each side") {
  using Sides = std::array<std::int64_t, 4>;
  CHECK(dts::overhang({0, 0, 5, 6}, {5, 6}) == Sides{0, 0, 0, 0});
  CHECK(dts::overhang({-2, -3, 10, 20}, {5, 6}) == Sides{3, 2, 11, 3});
  CHECK(dts::overhang({7, 1, 2, 2}, {5, 6}) == Sides{0, 0, 0, 4});
}
