// SPDX-License-Identifier: Apache-2.0
// The inner loops of the fused tail, one set for each SIMD level: rows of bytes are taken
// apart or turned round, then bytes become output values. No state, no allocation.
//
// Bytes become values by table (generic) or by a formula that gives the table's bits; who
// builds the table checks that for all 256 bytes of each channel:
//   t = fma(x, scale_high, x * scale_low)        x / 255, the two being 1 / 255
//   u = t - mean
//   y = fma(u, factor_high, u * factor_low)      u / std, the two being 1 / std
#pragma once

#include <cstdint>

#include "image/fused_normalize.h"

namespace dts {

enum FormulaConstant { kScaleHigh, kScaleLow, kMean, kFactorHigh, kFactorLow, kNumConstants };
// Floats of one constant in memory: whole vectors, and whole pixels of three channels.
inline constexpr int kConstantRun = 48;

struct ConvertJob {
  const std::uint8_t* in = nullptr;
  std::int64_t count = 0;
  std::int64_t period = 1;               // channels that take turns: 1 or 3
  const std::uint32_t* table = nullptr;  // [period][256]
  const float* constants = nullptr;      // [kNumConstants][kConstantRun]
  std::uint8_t* out = nullptr;
  bool streams = false;  // past the caches where the kernel can; end_stream() comes behind the last
};

// What may be written beyond the last byte of a row by the functions below.
inline constexpr std::int64_t kRowSlack = 64;

struct ConvertKernels {
  // `count` pixels to one row of bytes for each channel, the last pixel first if `flip`.
  void (*split_rgb)(const std::uint8_t* pixels, std::int64_t count, bool flip,
                    std::uint8_t* const* rows) = nullptr;
  // The pixels of a row, the last one first.
  void (*flip_rgb)(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) = nullptr;
  void (*flip_gray)(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) = nullptr;
  void (*to_float32)(const ConvertJob& job) = nullptr;
  void (*to_float16)(const ConvertJob& job) = nullptr;
  void (*to_bfloat16)(const ConvertJob& job) = nullptr;
  // What was streamed is seen by other threads as anything else is; null: nothing streams.
  void (*end_stream)() = nullptr;
  bool uses_formula = false;
};

const ConvertKernels& convert_kernels(SimdLevel level);
const ConvertKernels& convert_kernels_generic();
const ConvertKernels& convert_kernels_avx2();    // the generic ones off x86-64
const ConvertKernels& convert_kernels_avx512();  // likewise

}  // namespace dts
