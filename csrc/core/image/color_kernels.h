// SPDX-License-Identifier: Apache-2.0
// The inner loops of the colour operations, one set for each SIMD level, over `count` bytes
// or interleaved RGB pixels that lie side by side. No state, no allocation.
#pragma once

#include <cstdint>

#include "image/simd.h"

namespace dts {

// Pillow's blend of a byte with a value, in float32: base + alpha * (byte - base), clipped
// to 0..255, its fraction dropped.
std::uint8_t blend_byte(std::uint8_t byte, float base, float alpha);
// Pillow's weights of red, green and blue, 16 bits behind the point.
inline constexpr std::int32_t kRedWeight = 19595, kGreenWeight = 38470, kBlueWeight = 7471;
inline constexpr std::int32_t kWeightRound = 0x8000;

struct ValueBlend {
  float base = 0;
  float alpha = 1;
  const std::uint8_t* table = nullptr;  // [256]: blend_byte of each byte
};

struct ColorKernels {
  void (*blend_value)(std::uint8_t* bytes, std::int64_t count, const ValueBlend& blend) = nullptr;
  // Each byte with its pixel's gray.
  void (*blend_gray)(std::uint8_t* pixels, std::int64_t count, float alpha) = nullptr;
  void (*to_gray)(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) = nullptr;
  std::int64_t (*sum_gray)(const std::uint8_t* pixels, std::int64_t count) = nullptr;
  // To HSV, `shift` added to the hue modulo 256, and back.
  void (*shift_hue)(std::uint8_t* pixels, std::int64_t count, std::uint8_t shift) = nullptr;
};

const ColorKernels& color_kernels(SimdLevel level);
const ColorKernels& color_kernels_generic();
const ColorKernels& color_kernels_avx2();  // the generic ones off x86-64

}  // namespace dts
