// SPDX-License-Identifier: Apache-2.0
#include "image/rotate.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/crc32.h"
#include "base/error.h"
#include "image/pictures.h"

namespace dts {
namespace {

using testing::pattern_picture;
using testing::Picture;
using Center = std::optional<std::array<double, 2>>;

Picture rotate(const Picture& source, double degrees, Filter filter, const Center& center = {},
               std::vector<std::uint8_t> fill = {}, std::int64_t gap = 0) {
  Picture out(source.height, source.width, source.channels, gap);
  rotate_image(source.view(), degrees, filter, center, fill, out.view());
  return out;
}

std::uint32_t checksum(const Picture& picture) {
  return crc32(0, std::as_bytes(std::span(picture.bytes)));
}

TEST_CASE("rotate: Pillow's values of a small gray image") {
  const Picture source = pattern_picture(5, 6, 1);
  CHECK(rotate(source, 30, Filter::kNearest, {}, {7}).bytes ==
        std::vector<std::uint8_t>{7,  74,  111, 251, 43,  7,   37,  74,  203, 203,
                                  98, 157, 59,  107, 236, 39,  201, 15,  118, 177,
                                  61, 61,  223, 48,  7,   177, 247, 142, 223, 7});
  CHECK(rotate(source, 30, Filter::kBilinear, {}, {7}).bytes ==
        std::vector<std::uint8_t>{7,   81,  115, 198, 85,  7,   30,  92,  172, 162,
                                  124, 102, 59,  134, 206, 70,  161, 83,  95,  167,
                                  168, 101, 163, 61,  7,   189, 153, 135, 206, 7});
}

TEST_CASE("rotate: Pillow's values, by checksum") {
  constexpr double kAngles[] = {0, 17.3, 45, 90, 180, 270, -100.25, 719};
  const Center beside = std::array<double, 2>{10.5, -3.0};
  const struct {
    std::int64_t channels, height, width;
    Center center;
    std::uint32_t nearest[8], bilinear[8];
  } cases[] = {
      {3,
       50,
       67,
       {},
       {0x43629D4E, 0x62469772, 0xFA3473C6, 0x17CB4128, 0xB1BF254C, 0xC054778C, 0x70854F4B,
        0x2EEDDDB3},
       {0x43629D4E, 0xC5269446, 0x45459996, 0x60E87604, 0xB1BF254C, 0x8FCDA341, 0x3B2548C8,
        0xD4F8D513}},
      {3,
       50,
       67,
       beside,
       {0x43629D4E, 0x5A22EC87, 0x07661683, 0x1A5BCE5D, 0x0036515F, 0x7A43E851, 0x8E5BA9EE,
        0x8DD4EDD1},
       {0x43629D4E, 0x26059A37, 0x99FFDC96, 0x1139BCBB, 0x0036515F, 0xAC8BAB54, 0x4FCAF2C4,
        0x1E8A2CEF}},
      {3,
       40,
       40,
       {},
       {0xEE4F098F, 0x52A6CFEF, 0xE7E6F7AF, 0x8E9C8632, 0xDB304E9A, 0xA7A78EE5, 0x22DF2DEA,
        0xEE4F098F},
       {0xEE4F098F, 0xFA27D2FE, 0x405609EE, 0x8E9C8632, 0xDB304E9A, 0xA7A78EE5, 0xABD7153F,
        0xE38B7FE7}},
      {1,
       50,
       67,
       {},
       {0x4860977F, 0xAE1C3B03, 0x616C2D7D, 0x4E65451B, 0xA2E9455C, 0xE81F66F3, 0xEFC88779,
        0x3406FECF},
       {0x4860977F, 0x16C2EEA9, 0xD23B144A, 0xEAF44B43, 0xA2E9455C, 0xF770DC6B, 0xC99DD420,
        0x30E05F91}},
      {1,
       40,
       40,
       beside,
       {0xB869B49E, 0x5A29784C, 0x473D4E82, 0x6094CBF2, 0x9CDA9739, 0xB2DF9AD5, 0x5569B79C,
        0x100506C5},
       {0xB869B49E, 0x74F433D6, 0xEFEDD47D, 0x66D3859D, 0x9CDA9739, 0x412DBE6D, 0x5BE81FFD,
        0x56A355BA}},
  };
  for (const auto& [channels, height, width, center, nearest, bilinear] : cases) {
    const Picture source = pattern_picture(height, width, channels);
    const auto fill =
        channels == 3 ? std::vector<std::uint8_t>{10, 20, 30} : std::vector<std::uint8_t>{10};
    for (std::size_t i = 0; i < 8; ++i) {
      CAPTURE(kAngles[i]);
      CHECK(checksum(rotate(source, kAngles[i], Filter::kNearest, center, fill)) == nearest[i]);
      CHECK(checksum(rotate(source, kAngles[i], Filter::kBilinear, center, fill)) == bilinear[i]);
    }
  }
}

// Cosines and sines that should be 0 are, though those of radians are not.
TEST_CASE("rotate: Pillow's values of right angles about a pixel, by checksum") {
  const Picture source = pattern_picture(50, 67, 3);
  const Center inside = std::array<double, 2>{33.0, 24.5};
  for (const Filter filter : {Filter::kNearest, Filter::kBilinear}) {
    CHECK(checksum(rotate(source, 180, filter, inside, {10, 20, 30})) == 0x61A6104F);
    CHECK(checksum(rotate(source, 90, filter, inside, {10, 20, 30})) ==
          (filter == Filter::kNearest ? 0xD0333DAC : 0x276EDB62));
  }
}

// Coordinates that don't fit 16 bits before the point are added up in double.
TEST_CASE("rotate: Pillow's values of a long image, by checksum") {
  const Picture source = pattern_picture(3, 40000, 1);
  CHECK(checksum(rotate(source, 0.003, Filter::kNearest, {}, {7})) == 0x4334155A);
  CHECK(checksum(rotate(source, 181.0, Filter::kNearest, {}, {7})) == 0x35F96ED6);
  CHECK(checksum(rotate(source, 0.003, Filter::kBilinear, {}, {7})) == 0x40916DA3);
  CHECK(checksum(rotate(source, 181.0, Filter::kBilinear, {}, {7})) == 0x06AFE86E);
}

TEST_CASE("rotate: quarter turns of squares move whole pixels") {
  const Picture source = pattern_picture(7, 7, 3);
  for (const Filter filter : {Filter::kNearest, Filter::kBilinear}) {
    const Picture quarter = rotate(source, 90, filter), half = rotate(source, -180, filter),
                  three = rotate(source, 630, filter);
    for (std::int64_t y = 0; y < 7; ++y) {
      for (std::int64_t x = 0; x < 7; ++x) {
        const std::uint8_t* const pixel = source.at(y, x);
        REQUIRE(std::equal(pixel, pixel + 3, quarter.at(6 - x, y)));
        REQUIRE(std::equal(pixel, pixel + 3, half.at(6 - y, 6 - x)));
        REQUIRE(std::equal(pixel, pixel + 3, three.at(x, 6 - y)));
      }
    }
  }
}

TEST_CASE("rotate: rows may lie apart, and full turns change nothing") {
  testing::Random random(12);
  for (const std::int64_t channels : {1, 3}) {
    const Picture apart = testing::random_picture(random, 9, 14, channels, 0, 5);
    Picture together(9, 14, channels);
    together.bytes = apart.pixels();
    for (const Filter filter : {Filter::kNearest, Filter::kBilinear}) {
      for (const double degrees : {0.0, 360.0, 33.0, 180.0, 90.0}) {
        const Picture out = rotate(apart, degrees, filter, {}, {5}, 3);
        CHECK(out.pixels() == rotate(together, degrees, filter, {}, {5}).bytes);
        CHECK(out.is_padding_untouched());
      }
      CHECK(rotate(together, -720, filter).bytes == together.bytes);
      CHECK(rotate(together, 90, filter).bytes == rotate(together, -270, filter).bytes);
    }
  }
}

TEST_CASE("rotate: what comes from outside is the fill") {
  const Picture source = pattern_picture(4, 5, 3);
  const Center far_away = std::array<double, 2>{1e300, -1e300};
  for (const Filter filter : {Filter::kNearest, Filter::kBilinear}) {
    const Picture out = rotate(source, 50, filter, far_away, {1, 2, 3});
    for (std::size_t i = 0; i < out.bytes.size(); ++i) REQUIRE(out.bytes[i] == 1 + i % 3);
    const Picture half = rotate(source, 180, filter, far_away);
    CHECK(half.bytes == std::vector<std::uint8_t>(half.bytes.size(), 0));
  }
}

TEST_CASE("rotate: arguments that make no sense") {
  const Picture source = pattern_picture(4, 5, 3);
  Picture out(4, 5, 3), wide(4, 6, 3), rgba(4, 5, 4);
  const auto run = [&](double degrees, Filter filter, const Center& center,
                       std::vector<std::uint8_t> fill, Picture& to) {
    rotate_image(source.view(), degrees, filter, center, fill, to.view());
  };
  CHECK_THROWS_WITH_AS(run(1, Filter::kBicubic, {}, {}, out),
                       "rotation knows the filters nearest and bilinear, not number 4",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(run(1, Filter::kNearest, {}, {}, wide),
                       "the rotated image must have the image's size, 4x5x3, not 4x6x3",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(run(1, Filter::kNearest, {}, {1, 2}, out),
                       "the fill must have 1 or 3 values, not 2", InvalidArgument);
  CHECK_THROWS_WITH_AS(run(std::nan(""), Filter::kNearest, {}, {}, out),
                       "the angle must be a finite number, not nan", InvalidArgument);
  const Center nowhere = std::array<double, 2>{0.0, std::numeric_limits<double>::infinity()};
  CHECK_THROWS_WITH_AS(run(1, Filter::kNearest, nowhere, {}, out),
                       "the centre of rotation must be finite numbers, not 0.000000, inf",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(rotate_image(rgba.view(), 1, Filter::kNearest, {}, {}, rgba.view()),
                       "rotation needs an image of 1 or 3 channels, not 4", InvalidArgument);
  CHECK_NOTHROW(
      rotate_image({nullptr, 0, 5, 3, 15}, 1, Filter::kNearest, {}, {}, {nullptr, 0, 5, 3, 15}));
}

}  // namespace
}  // namespace dts
