// SPDX-License-Identifier: Apache-2.0
// What FusedNormalize and the kernel of a device write, value by value: checks of the
// parameters, the exact value of a byte, and the formula that gives the same float32 bits
// where it was checked for all 256 bytes. Pure functions; to be compiled without contracting
// products and sums (-ffp-contract=off).
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "image/convert_kernels.h"
#include "image/fused_normalize.h"
#include "image/half.h"

namespace dts {

// One value for each channel, or one for all; `otherwise` where there are none.
inline float pick_value(const std::vector<float>& values, std::int64_t channel, float otherwise) {
  if (values.empty()) return otherwise;
  return values[values.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
}

// InvalidArgument: as FusedNormalize's constructor.
inline void check_normalize(const NormalizeParams& params) {
  if (params.channels != 1 && params.channels != 3) {
    throw InvalidArgument("normalize: channels is " + std::to_string(params.channels) +
                          ", expected 1 or 3");
  }
  if (params.mean.empty() != params.std.empty()) {
    throw InvalidArgument("normalize: mean has " + std::to_string(params.mean.size()) +
                          " values, std " + std::to_string(params.std.size()) +
                          "; give both or neither");
  }
  for (const auto* values : {&params.mean, &params.std}) {
    if (values->size() <= 1 || values->size() == static_cast<std::size_t>(params.channels))
      continue;
    throw InvalidArgument(std::string("normalize: ") + (values == &params.mean ? "mean" : "std") +
                          " has " + std::to_string(values->size()) + " values, expected 1 or " +
                          std::to_string(params.channels));
  }
  if (std::find(params.std.begin(), params.std.end(), 0.0f) != params.std.end()) {
    throw InvalidArgument("normalize: std holds 0, which would divide by zero");
  }
  for (const auto* values : {&params.mean, &params.std}) {
    const auto is_bad = [](float value) { return !std::isfinite(value); };
    const auto bad = std::find_if(values->begin(), values->end(), is_bad);
    if (bad == values->end()) continue;
    throw InvalidArgument(std::string("normalize: ") + (values == &params.mean ? "mean" : "std") +
                          " holds " + std::to_string(*bad) + ", expected finite values");
  }
  if (params.type == PixelType::kUint8 && !params.mean.empty()) {
    throw InvalidArgument("normalize: uint8 output can't be normalized; choose a float type");
  }
}

// InvalidArgument: values that fill() can't write.
inline void check_fill_values(const NormalizeParams& params, const std::vector<float>& values) {
  if (values.size() != 1 && values.size() != static_cast<std::size_t>(params.channels)) {
    throw InvalidArgument("fill: " + std::to_string(values.size()) + " values, expected 1 or " +
                          std::to_string(params.channels));
  }
  for (const float value : values) {
    if (params.type != PixelType::kUint8 || (value >= 0.0f && value < 256.0f)) continue;
    throw InvalidArgument("fill: the value " + std::to_string(value) +
                          " is not in uint8's range 0..255");
  }
}

// float32 to the bits of the output type, as torch's conversion rounds.
inline std::uint32_t output_bits(float value, PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return static_cast<std::uint8_t>(value);
    case PixelType::kFloat16:
      return float16_bits(value);
    case PixelType::kBfloat16:
      return bfloat16_bits(value);
    case PixelType::kFloat32:
      break;
  }
  return std::bit_cast<std::uint32_t>(value);
}

// The value in float32, each step rounded as torch's separate kernels do.
inline float exact_value(const NormalizeParams& params, std::int64_t channel, int byte) {
  auto value = static_cast<float>(byte);
  if (params.type == PixelType::kUint8) return value;
  if (params.scale) value = params.multiply ? value * (1.0f / 255.0f) : value / 255.0f;
  if (params.mean.empty()) return value;
  const float centered = value - pick_value(params.mean, channel, 0.0f);
  return centered / pick_value(params.std, channel, 1.0f);
}

// The constants of convert_kernels.h for one channel.
struct NormalizeFormula {
  float constants[kNumConstants];
};

// 1 / divisor in two floats.
inline void invert(float divisor, float* high, float* low) {
  const double inverse = 1.0 / static_cast<double>(divisor);
  *high = static_cast<float>(inverse);
  *low = static_cast<float>(inverse - static_cast<double>(*high));
}

inline NormalizeFormula formula_of(const NormalizeParams& params, std::int64_t channel) {
  NormalizeFormula formula = {};
  float* c = formula.constants;
  c[kScaleHigh] = 1.0f;
  if (params.scale) invert(255.0f, &c[kScaleHigh], &c[kScaleLow]);
  if (params.scale && params.multiply) c[kScaleLow] = 0.0f;
  c[kMean] = pick_value(params.mean, channel, 0.0f);
  invert(pick_value(params.std, channel, 1.0f), &c[kFactorHigh], &c[kFactorLow]);
  return formula;
}

inline float evaluate(const NormalizeFormula& formula, int byte) {
  const float* c = formula.constants;
  const auto x = static_cast<float>(byte);
  const float t = std::fma(x, c[kScaleHigh], x * c[kScaleLow]);
  const float u = t - c[kMean];
  return std::fma(u, c[kFactorHigh], u * c[kFactorLow]);
}

// Whether the formula gives the exact float32 bits of all bytes of a channel.
inline bool formula_is_exact(const NormalizeParams& params, std::int64_t channel,
                             const NormalizeFormula& formula) {
  for (int byte = 0; byte < 256; ++byte) {
    // Compared in float32, whatever the output: kernels round from there.
    const float exact = exact_value(params, channel, byte);
    const bool is_equal = std::bit_cast<std::uint32_t>(evaluate(formula, byte)) ==
                          std::bit_cast<std::uint32_t>(exact);
    if (!is_equal || !std::isfinite(exact)) return false;
  }
  return true;
}

}  // namespace dts
