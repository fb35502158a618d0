// SPDX-License-Identifier: Apache-2.0
// Checks that every set of the colour kernels must pass, one function at a time, against
// formulas written out differently.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "base/crc32.h"
#include "image/color_kernels.h"
#include "image/pictures.h"

namespace dts::testing {

// Pillow's clipping, spelled out.
inline std::uint8_t blend_reference(int byte, float base, float alpha) {
  const float distance = static_cast<float>(byte) - base;
  const float share = alpha * distance;
  const float value = base + share;
  if (value <= 0) return 0;
  if (value >= 255) return 255;
  return static_cast<std::uint8_t>(value);
}

inline int gray_reference(const std::uint8_t* pixel) {
  return (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 32768) / 65536;
}

inline constexpr float kAlphas[] = {0.0F, 0.3F, 0.9999F, 1.0F, 1.37F, 12.0F, -0.7F, 1e30F, -3e38F};

inline void check_blend_value(const ColorKernels& kernels) {
  for (const float base : {0.0F, 1.0F, 117.0F, 255.0F}) {
    for (const float alpha : kAlphas) {
      std::uint8_t table[256], bytes[256];
      for (int i = 0; i < 256; ++i) {
        bytes[i] = static_cast<std::uint8_t>(i);
        table[i] = blend_byte(bytes[i], base, alpha);
      }
      kernels.blend_value(bytes, 256, {base, alpha, table});
      for (int i = 0; i < 256; ++i) {
        REQUIRE(table[i] == blend_reference(i, base, alpha));
        REQUIRE(bytes[i] == table[i]);
      }
    }
  }
}

// Rows of every length, from memory of exactly that length.
inline void check_gray(const ColorKernels& kernels) {
  Random random(31);
  for (std::int64_t count = 0; count < 45; ++count) {
    const Picture row = random_picture(random, 1, count, 3, static_cast<int>(count % 2));
    std::vector<std::uint8_t> gray(static_cast<std::size_t>(count));
    kernels.to_gray(row.bytes.data(), count, gray.data());
    std::int64_t sum = 0;
    for (std::int64_t x = 0; x < count; ++x) {
      const int expected = gray_reference(row.at(0, x));
      REQUIRE(gray[static_cast<std::size_t>(x)] == expected);
      sum += expected;
    }
    CHECK(kernels.sum_gray(row.bytes.data(), count) == sum);
    for (const float alpha : kAlphas) {
      Picture blended = row;
      kernels.blend_gray(blended.bytes.data(), count, alpha);
      for (std::int64_t x = 0; x < count; ++x) {
        const auto base = static_cast<float>(gray[static_cast<std::size_t>(x)]);
        for (int c = 0; c < 3; ++c) {
          REQUIRE(blended.at(0, x)[c] == blend_reference(row.at(0, x)[c], base, alpha));
        }
      }
    }
  }
}

// White is 255 and gray rounds up from a half: sums of all corners of the colour cube.
inline void check_gray_extremes(const ColorKernels& kernels) {
  for (int corner = 0; corner < 8; ++corner) {
    std::vector<std::uint8_t> row(16 * 3);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = corner >> (i % 3) & 1 ? 255 : 0;
    CHECK(kernels.sum_gray(row.data(), 16) == 16 * gray_reference(row.data()));
  }
}

// The hue as Pillow takes it, sixths made bytes in double, and back in whole numbers.
inline void hue_reference(const std::uint8_t* in, int shift, std::uint8_t* out) {
  const int red = in[0], green = in[1], blue = in[2];
  const int most = std::max({red, green, blue}), least = std::min({red, green, blue});
  int hue = 0, saturation = 0;
  if (most > least) {
    const auto range = static_cast<float>(most - least);
    const float r = static_cast<float>(most - red) / range;
    const float g = static_cast<float>(most - green) / range;
    const float b = static_cast<float>(most - blue) / range;
    float sixths;
    if (red == most) {
      sixths = b - g;
    } else if (green == most) {
      sixths = static_cast<float>(2.0 + static_cast<double>(r) - static_cast<double>(b));
    } else {
      sixths = static_cast<float>(4.0 + static_cast<double>(g) - static_cast<double>(r));
    }
    const auto turn = static_cast<float>(std::fmod(static_cast<double>(sixths) / 6.0 + 1.0, 1.0));
    hue = static_cast<int>(static_cast<double>(turn) * 255.0);
    saturation = static_cast<int>(static_cast<double>(range / static_cast<float>(most)) * 255.0);
  }
  hue = (hue + shift) % 256;
  const int sixth = hue * 6 / 255;
  const double part = hue * 6 / 255.0 - sixth, amount = saturation / 255.0;
  const auto byte = [most](double share) {
    return static_cast<std::uint8_t>(std::floor(most * share + 0.5));
  };
  const std::uint8_t v = byte(1), p = byte(1 - amount), q = byte(1 - amount * part),
                     t = byte(1 - amount * (1 - part));
  const std::uint8_t colors[6][3] = {{v, t, p}, {q, v, p}, {p, v, t},
                                     {p, q, v}, {t, p, v}, {v, p, q}};
  std::copy_n(colors[sixth % 6], 3, out);
}

inline void check_hue_rows(const ColorKernels& kernels) {
  Random random(37);
  for (std::int64_t count = 0; count < 45; ++count) {
    for (const int shift : {0, 1, 77, 128, 254, 255}) {
      const Picture row = random_picture(random, 1, count, 3, static_cast<int>(count % 3 == 0));
      Picture shifted = row;
      kernels.shift_hue(shifted.bytes.data(), count, static_cast<std::uint8_t>(shift));
      for (std::int64_t x = 0; x < count; ++x) {
        std::uint8_t expected[3];
        hue_reference(row.at(0, x), shift, expected);
        REQUIRE(std::equal(expected, expected + 3, shifted.at(0, x)));
      }
    }
  }
}

// Every colour with a channel at 255: all sixths, ranges and distances that make a hue.
inline void check_hue_of_bright_colors(const ColorKernels& kernels) {
  for (std::size_t full = 0; full < 3; ++full) {
    std::vector<std::uint8_t> colors(256 * 256 * 3, 255);
    for (std::size_t i = 0; i < 65536; ++i) {
      colors[3 * i + (full + 1) % 3] = static_cast<std::uint8_t>(i >> 8);
      colors[3 * i + (full + 2) % 3] = static_cast<std::uint8_t>(i & 255);
    }
    std::vector<std::uint8_t> shifted = colors;
    kernels.shift_hue(shifted.data(), 65536, 0);
    for (std::size_t i = 0; i < colors.size(); i += 3) {
      hue_reference(colors.data() + i, 0, colors.data() + i);
    }
    CHECK(shifted == colors);
  }
}

// Colours with any green and blue and a multiple of 15 as red, by Pillow's checksum.
inline std::uint32_t hue_checksum(const ColorKernels& kernels, std::uint8_t shift) {
  std::vector<std::uint8_t> slice(256 * 256 * 3), shifted;
  for (std::size_t i = 0; i < 65536; ++i) {
    slice[3 * i + 1] = static_cast<std::uint8_t>(i >> 8);
    slice[3 * i + 2] = static_cast<std::uint8_t>(i & 255);
  }
  std::uint32_t checksum = 0;
  for (int red = 0; red < 256; red += 15) {
    for (std::size_t i = 0; i < 65536; ++i) slice[3 * i] = static_cast<std::uint8_t>(red);
    shifted = slice;
    kernels.shift_hue(shifted.data(), 65536, shift);
    checksum = crc32(checksum, std::as_bytes(std::span(shifted)));
  }
  return checksum;
}

inline void check_hue_of_many_colors(const ColorKernels& kernels) {
  CHECK(hue_checksum(kernels, 17) == 0xEDD4EBD1);
  CHECK(hue_checksum(kernels, 0) == 0xA7CF14D9);
  CHECK(hue_checksum(kernels, 200) == 0x243C3D81);
}

inline void check_kernels(const ColorKernels& kernels) {
  check_blend_value(kernels);
  check_gray(kernels);
  check_gray_extremes(kernels);
  check_hue_rows(kernels);
  check_hue_of_bright_colors(kernels);
  check_hue_of_many_colors(kernels);
}

}  // namespace dts::testing
