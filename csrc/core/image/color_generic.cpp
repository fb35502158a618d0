// SPDX-License-Identifier: Apache-2.0
// The colour loops in plain C++: the formulas as Pillow computes them.
#include <algorithm>

#include "image/color_kernels.h"

namespace dts {
namespace {

std::uint8_t gray_of(const std::uint8_t* pixel) {
  const std::int32_t sum = pixel[0] * kRedWeight + pixel[1] * kGreenWeight + pixel[2] * kBlueWeight;
  return static_cast<std::uint8_t>((sum + kWeightRound) >> 16);
}

void blend_value(std::uint8_t* bytes, std::int64_t count, const ValueBlend& blend) {
  const std::uint8_t* const table = blend.table;
  for (std::int64_t i = 0; i < count; ++i) bytes[i] = table[bytes[i]];
}

void blend_gray(std::uint8_t* pixels, std::int64_t count, float alpha) {
  for (std::int64_t i = 0; i < count; ++i, pixels += 3) {
    const float gray = gray_of(pixels);
    for (int c = 0; c < 3; ++c) pixels[c] = blend_byte(pixels[c], gray, alpha);
  }
}

void to_gray(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = gray_of(pixels + 3 * i);
}

std::int64_t sum_gray(const std::uint8_t* pixels, std::int64_t count) {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += gray_of(pixels + 3 * i);
  return sum;
}

// 0..255 around the circle. Pillow divides in float32, adds whole sixths in float32 and turns
// sixths into bytes in double with more roundings; float32 gives the same byte for all
// colours. (Where the true value is a whole number, both may come out one lower.)
int hue_of(int red, int green, int blue, int most, int range) {
  const auto part = [range](int distance) {
    return static_cast<float>(distance) / static_cast<float>(range);
  };
  float sixths;  // one of the three is the least, so its part is 1
  if (red == most) {
    sixths = green >= blue ? 1.0F - part(most - green) : part(most - blue) - 1.0F;
  } else if (green == most) {
    sixths = red >= blue ? 1.0F + part(most - red) : 3.0F - part(most - blue);
  } else {
    sixths = green >= red ? 3.0F + part(most - green) : 5.0F - part(most - red);
  }
  const float turn = (sixths < 0 ? 1.0F : 0.0F) + sixths / 6.0F;
  return static_cast<int>(turn * 255.0F);
}

// value * (1 - saturation / 255 * part / 255) to the nearest; the odd divisor leaves no ties.
std::uint8_t faded(int value, int saturation, int part) {
  const auto parts = static_cast<std::uint32_t>(value * (65025 - saturation * part));
  return static_cast<std::uint8_t>((parts + 32512) / 65025);
}

void shift_hue(std::uint8_t* pixels, std::int64_t count, std::uint8_t shift) {
  for (std::int64_t i = 0; i < count; ++i, pixels += 3) {
    const int red = pixels[0], green = pixels[1], blue = pixels[2];
    const int most = std::max({red, green, blue});
    const int range = most - std::min({red, green, blue});
    if (range == 0) continue;  // gray has no saturation and comes back as it was
    const int saturation = range * 255 / most;
    const int hue = (hue_of(red, green, blue, most, range) + shift) & 255;
    // 255 is the end of the last sixth, which gives the colour of the first one's beginning.
    const int sixth = std::min(hue * 6 / 255, 5);
    const int part = hue * 6 - sixth * 255;
    const auto high = static_cast<std::uint8_t>(most);
    const std::uint8_t low = faded(most, saturation, 255);
    const std::uint8_t middle = faded(most, saturation, sixth % 2 == 1 ? part : 255 - part);
    // Which channel is the highest moves on after every second sixth, beginning with the second.
    const int top = (sixth + 1) / 2 % 3;
    const int bottom = (sixth / 2 + 2) % 3;
    pixels[top] = high;
    pixels[bottom] = low;
    pixels[3 - top - bottom] = middle;
  }
}

}  // namespace

std::uint8_t blend_byte(std::uint8_t byte, float base, float alpha) {
  const float value = base + alpha * (static_cast<float>(byte) - base);
  return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F));
}

const ColorKernels& color_kernels_generic() {
  static constexpr ColorKernels kernels = {
      .blend_value = blend_value,
      .blend_gray = blend_gray,
      .to_gray = to_gray,
      .sum_gray = sum_gray,
      .shift_hue = shift_hue,
  };
  return kernels;
}

const ColorKernels& color_kernels(SimdLevel level) {
  return level == SimdLevel::kGeneric ? color_kernels_generic() : color_kernels_avx2();
}

}  // namespace dts
