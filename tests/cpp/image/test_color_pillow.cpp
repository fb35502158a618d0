// SPDX-License-Identifier: Apache-2.0
// What torchvision gives for PIL images (0.29, Pillow 13, x86-64).
#include <doctest/doctest.h>

#include <array>
#include <span>

#include "base/crc32.h"
#include "image/color.h"
#include "image/pictures.h"

namespace dts {
namespace {

using testing::pattern_picture;
using testing::Picture;

// Middling values, other ones in each channel.
Picture soft_picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Picture picture(height, width, channels);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t value = 40 + (x * 3 + y * 5 + x * y / 8 + c * 29) % (90 + 40 * c);
        picture.at(y, x)[c] = static_cast<std::uint8_t>(value);
      }
    }
  }
  return picture;
}

std::uint32_t checksum(const Picture& picture) {
  return crc32(0, std::as_bytes(std::span(picture.bytes)));
}

std::uint32_t after(void (*adjust)(const ImageView&, double), Picture picture, double factor) {
  adjust(picture.view(), factor);
  return checksum(picture);
}

TEST_CASE("color: Pillow's values of four pixels") {
  const Picture source = pattern_picture(1, 4, 3);
  const auto adjusted = [&](void (*adjust)(const ImageView&, double), double factor) {
    Picture picture = source;
    adjust(picture.view(), factor);
    return picture.bytes;
  };
  using Bytes = std::vector<std::uint8_t>;
  CHECK(source.bytes == Bytes{0, 85, 170, 37, 122, 207, 74, 159, 244, 111, 196, 25});
  CHECK(adjusted(adjust_brightness, 1.3) ==
        Bytes{0, 110, 220, 48, 158, 255, 96, 206, 255, 144, 254, 32});
  CHECK(adjusted(adjust_contrast, 0.6) ==
        Bytes{46, 97, 148, 69, 120, 171, 91, 142, 193, 113, 164, 61});
  CHECK(adjusted(adjust_saturation, 1.7) ==
        Bytes{0, 96, 240, 0, 133, 255, 25, 170, 255, 83, 227, 0});
  CHECK(adjusted(adjust_hue, 0.2) == Bytes{116, 0, 170, 153, 37, 207, 190, 75, 244, 25, 196, 142});
  Picture spread = source;
  autocontrast(spread.view());
  CHECK(spread.bytes == Bytes{0, 0, 168, 85, 84, 211, 170, 169, 255, 255, 254, 0});
  Picture gray(1, 4, 1);
  to_grayscale(source.view(), gray.view());
  CHECK(gray.bytes == Bytes{69, 106, 143, 151});
}

struct Checksums {
  double factor;
  std::uint32_t pattern_rgb, soft_rgb, pattern_gray, soft_gray;
};

void check_all(void (*adjust)(const ImageView&, double), std::span<const Checksums> all) {
  for (const auto& [factor, pattern_rgb, soft_rgb, pattern_gray, soft_gray] : all) {
    CAPTURE(factor);
    CHECK(after(adjust, pattern_picture(50, 67, 3), factor) == pattern_rgb);
    CHECK(after(adjust, soft_picture(50, 67, 3), factor) == soft_rgb);
    CHECK(after(adjust, pattern_picture(50, 67, 1), factor) == pattern_gray);
    CHECK(after(adjust, soft_picture(50, 67, 1), factor) == soft_gray);
  }
}

TEST_CASE("color: torchvision's brightness, by checksum") {
  check_all(adjust_brightness,
            std::array<Checksums, 7>{{{0, 0xCADFE763, 0xCADFE763, 0xEE4E5CA4, 0xEE4E5CA4},
                                      {0.3, 0xE3371F95, 0xC8F264BE, 0xE4392A0E, 0x08F86CF0},
                                      {0.77, 0x7CC91B70, 0x2B0B5A21, 0x01E6CD3C, 0x581A28B6},
                                      {1, 0x43629D4E, 0xED9E1CDE, 0x4860977F, 0xC2D35CBD},
                                      {1.4, 0xFA88B47D, 0x1DA60400, 0xF4BAC6CF, 0xE7A20BA0},
                                      {3.3, 0xB7FAA42F, 0x22FDB058, 0x5CB775D0, 0x5922C0C9},
                                      {-0.5, 0xCADFE763, 0xCADFE763, 0xEE4E5CA4, 0xEE4E5CA4}}});
}

TEST_CASE("color: torchvision's contrast, by checksum") {
  check_all(adjust_contrast,
            std::array<Checksums, 7>{{{0, 0x8438038B, 0x36203249, 0xC354AEB1, 0x07D4A4EF},
                                      {0.3, 0x19CBC9C1, 0xAFEB0C24, 0x7CAB23A5, 0x96A169B9},
                                      {0.77, 0xE3BBFE13, 0x8BA71317, 0x45E6BB42, 0x99255D8E},
                                      {1, 0x43629D4E, 0xED9E1CDE, 0x4860977F, 0xC2D35CBD},
                                      {1.4, 0x7F0E56CD, 0x28B8480E, 0x75ACB8A6, 0x90D266E7},
                                      {3.3, 0x7ACD1A28, 0xD6ECA551, 0x49ACFB4F, 0xCAAAAAA5},
                                      {-0.5, 0x72FDA26A, 0xC873DA19, 0x290DB75A, 0x3FA87DED}}});
}

TEST_CASE("color: torchvision's saturation, by checksum") {
  check_all(adjust_saturation,
            std::array<Checksums, 7>{{{0, 0xA9F0C4EC, 0x43ACFF87, 0x4860977F, 0xC2D35CBD},
                                      {0.3, 0xC4172597, 0x532847D7, 0x4860977F, 0xC2D35CBD},
                                      {0.77, 0x0EA893E0, 0x1ABD4206, 0x4860977F, 0xC2D35CBD},
                                      {1, 0x43629D4E, 0xED9E1CDE, 0x4860977F, 0xC2D35CBD},
                                      {1.4, 0xC3CB250A, 0xBD8F18C2, 0x4860977F, 0xC2D35CBD},
                                      {3.3, 0x0AA82B6E, 0xC5199C9A, 0x4860977F, 0xC2D35CBD},
                                      {-0.5, 0x92FA4D1B, 0x711344AA, 0x4860977F, 0xC2D35CBD}}});
}

TEST_CASE("color: torchvision's hue, by checksum") {
  check_all(adjust_hue,
            std::array<Checksums, 7>{{{-0.5, 0x8B2228C2, 0x4297F3F2, 0x4860977F, 0xC2D35CBD},
                                      {-0.31, 0x17151282, 0x36E719DE, 0x4860977F, 0xC2D35CBD},
                                      {-0.004, 0xBFD960E4, 0x7789E7CF, 0x4860977F, 0xC2D35CBD},
                                      {0, 0x6CDD10D9, 0xE4CDF394, 0x4860977F, 0xC2D35CBD},
                                      {0.0039, 0x6CDD10D9, 0xE4CDF394, 0x4860977F, 0xC2D35CBD},
                                      {0.1, 0xBC742DF3, 0x2438772C, 0x4860977F, 0xC2D35CBD},
                                      {0.5, 0x3BD974C2, 0x0F4B3BB5, 0x4860977F, 0xC2D35CBD}}});
}

TEST_CASE("color: torchvision's gray and autocontrast, by checksum") {
  const struct {
    Picture source;
    std::uint32_t gray, three_grays, spread;
  } cases[] = {
      {pattern_picture(50, 67, 3), 0x0270DA97, 0xA9F0C4EC, 0x43629D4E},
      {soft_picture(50, 67, 3), 0xD81E41B3, 0x43ACFF87, 0xF656C796},
      {pattern_picture(50, 67, 1), 0x4860977F, 0x5D39CB9C, 0x4860977F},
      {soft_picture(50, 67, 1), 0xC2D35CBD, 0x0B28CEBA, 0x9E486379},
  };
  for (const auto& [source, gray, three_grays, spread] : cases) {
    Picture one(50, 67, 1), three(50, 67, 3, 5), copy = source;
    to_grayscale(source.view(), one.view());
    to_grayscale(source.view(), three.view());
    autocontrast(copy.view());
    CHECK(checksum(one) == gray);
    CHECK(crc32(0, std::as_bytes(std::span<const std::uint8_t>(three.pixels()))) == three_grays);
    CHECK(three.is_padding_untouched());
    CHECK(checksum(copy) == spread);
  }
}

}  // namespace
}  // namespace dts
