// SPDX-License-Identifier: Apache-2.0
#include "pipeline/fused_geometry.h"

#include "image/pictures.h"

namespace {

using dts::Box;
using dts::Flips;
using dts::FusedGeometry;
using dts::ImageSize;
using dts::testing::Picture;

Picture flipped(const Picture& picture, const Flips& flips) {
  Picture out(picture.height, picture.width, picture.channels);
  for (std::int64_t y = 0; y < out.height; ++y) {
    for (std::int64_t x = 0; x < out.width; ++x) {
      const std::uint8_t* from = picture.at(flips.vertical ? out.height - 1 - y : y,
                                            flips.horizontal ? out.width - 1 - x : x);
      std::copy(from, from + out.channels, out.at(y, x));
    }
  }
  return out;
}

Box random_box(dts::testing::Random& random, const ImageSize& size) {
  const std::int64_t height = dts::testing::draw(random, 1, size.height);
  const std::int64_t width = dts::testing::draw(random, 1, size.width);
  return {dts::testing::draw(random, 0, size.height - height),
          dts::testing::draw(random, 0, size.width - width), height, width};
}

}  // namespace

TEST_CASE("a new geometry is the whole source") {
  const FusedGeometry geometry({4, 7});
  CHECK(geometry.is_whole());
  CHECK(geometry.size() == ImageSize{4, 7});
  CHECK(geometry.box() == Box{0, 0, 4, 7});
  CHECK_FALSE(geometry.has_resize());
  CHECK(geometry.can_resize());
  CHECK_FALSE(geometry.flips_after().any());
}

TEST_CASE("crops and flips in any order are one box and flips after it") {
  dts::testing::Random random(3);
  for (int round = 0; round < 300; ++round) {
    const auto height = dts::testing::draw(random, 1, 12),
               width = dts::testing::draw(random, 1, 12);
    const Picture source = dts::testing::random_picture(random, height, width, 1);
    Picture expected = source;
    FusedGeometry geometry({height, width});
    for (int step = 0; step < 6; ++step) {
      switch (random() % 3) {
        case 0: {
          const Box box = random_box(random, geometry.size());
          geometry.crop(box);
          expected = dts::testing::cut(expected, box);
          break;
        }
        case 1:
          geometry.flip_horizontal();
          expected = flipped(expected, {.horizontal = true});
          break;
        default:
          geometry.flip_vertical();
          expected = flipped(expected, {.vertical = true});
      }
      CHECK(geometry.size() == ImageSize{expected.height, expected.width});
    }
    const Picture found =
        flipped(dts::testing::cut(source, geometry.box()), geometry.flips_after());
    CHECK(found.pixels() == expected.pixels());
  }
}

TEST_CASE("crops behind a resize cut its window, flips before it stay before it") {
  FusedGeometry geometry({100, 200});
  geometry.crop({10, 20, 50, 60});
  geometry.flip_horizontal();
  geometry.resize({25, 30}, dts::Filter::kBox);
  CHECK_FALSE(geometry.can_resize());
  CHECK_FALSE(geometry.is_whole());
  CHECK(geometry.flips_before().horizontal);
  CHECK_FALSE(geometry.flips_after().any());
  geometry.flip_vertical();
  geometry.crop({1, 2, 10, 12});
  CHECK(geometry.size() == ImageSize{10, 12});
  CHECK(geometry.resized() == ImageSize{25, 30});
  CHECK(geometry.filter() == dts::Filter::kBox);
  // Counted from below, since the image is upside down.
  CHECK(geometry.window() == Box{14, 2, 10, 12});
  CHECK(geometry.flips_after().vertical);
  CHECK(geometry.box() == Box{10, 20, 50, 60});
}

TEST_CASE("a resize to the same size is none") {
  FusedGeometry geometry({10, 20});
  geometry.flip_horizontal();
  geometry.resize({10, 20}, dts::Filter::kLanczos);
  CHECK(geometry.can_resize());
  CHECK(geometry.is_whole());
  CHECK(geometry.flips_after().horizontal);
}

TEST_CASE("flips twice are none") {
  FusedGeometry geometry({10, 20}, {.horizontal = true, .vertical = true});
  CHECK(geometry.flips_after().any());
  geometry.flip_horizontal();
  geometry.flip_vertical();
  CHECK_FALSE(geometry.flips_after().any());
}
