// SPDX-License-Identifier: Apache-2.0
#include "jpeg/cmyk.h"

#include <doctest/doctest.h>

#include <vector>

#include "base/bytes.h"
#include "base/crc32.h"

TEST_CASE("the conversion gives Pillow's bytes for every pair of ink and black") {
  // A column of all inks for each black, each colour with its own ink: the CRC-32 of
  // what Image.frombytes("CMYK", size, data, "raw", "CMYK;I").convert("RGB") gave.
  std::vector<std::uint8_t> cmyk;
  for (int black = 0; black < 256; ++black) {
    for (int ink = 0; ink < 256; ++ink) {
      for (const int value : {ink, 255 - ink, (ink * 7) % 256, black}) {
        cmyk.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  std::vector<std::uint8_t> rgb(cmyk.size() / 4 * 3 + 1, 77);
  dts::cmyk_to_rgb(cmyk.data(), cmyk.size() / 4, rgb.data());
  CHECK(rgb.back() == 77);
  rgb.pop_back();
  CHECK(dts::crc32(0, std::as_bytes(std::span(rgb))) == 0x480A5679u);
}

TEST_CASE("stored values are inverted: 255 is no ink") {
  const std::uint8_t cmyk[] = {255, 255, 255, 255, 0, 255, 255, 255, 9,   9,  9,  0,
                               255, 128, 0,   200, 1, 2,   3,   254, 128, 64, 32, 16};
  std::uint8_t rgb[18];
  dts::cmyk_to_rgb(cmyk, 6, rgb);
  const std::uint8_t expected[] = {255, 255, 255, 0, 255, 255, 0, 0, 0,
                                   200, 100, 0,   1, 2,   3,   8, 4, 2};
  for (std::size_t i = 0; i < sizeof rgb; ++i) {
    CAPTURE(i);
    CHECK(rgb[i] == expected[i]);
  }
}
