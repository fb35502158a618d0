// SPDX-License-Identifier: Apache-2.0
#include "jpeg/cmyk.h"

namespace dts {
namespace {

// a * b / 255, rounded to nearest; exact for bytes.
unsigned multiply_bytes(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return (product + (product >> 8)) >> 8;
}

}  // namespace

void cmyk_to_rgb(const std::uint8_t* cmyk, std::size_t num_pixels, std::uint8_t* rgb) {
  for (std::size_t i = 0; i < num_pixels; ++i) {
    // Stored inverted, so this is the share of light that black lets through. What a
    // colour takes away is never more than that: no clipping is needed.
    const unsigned light = cmyk[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned ink = 255u - cmyk[4 * i + c];
      rgb[3 * i + c] = static_cast<std::uint8_t>(light - multiply_bytes(ink, light));
    }
  }
}

}  // namespace dts
