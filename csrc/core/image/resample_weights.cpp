// SPDX-License-Identifier: Apache-2.0
#include "image/resample_weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "image/scratch.h"

// A fused multiply-add rounds once where the plain C of Pillow rounds twice.
#ifdef __FP_FAST_FMA
#ifdef __clang__
#pragma clang fp contract(off)
#else
#pragma GCC optimize("fp-contract=off")
#endif
#endif

namespace dts {
namespace {

struct BoxFilter {
  static constexpr double kSupport = 0.5;
  double operator()(double x) const { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }
};

struct BilinearFilter {
  static constexpr double kSupport = 1.0;
  double operator()(double x) const { return std::max(1.0 - std::abs(x), 0.0); }
};

struct HammingFilter {
  static constexpr double kSupport = 1.0;
  double operator()(double x) const {
    x = std::abs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x *= std::numbers::pi;
    // Pillow has these two constants in single precision.
    return std::sin(x) / x * (double{0.54f} + double{0.46f} * std::cos(x));
  }
};

struct BicubicFilter {
  static constexpr double kSupport = 2.0;
  double operator()(double x) const {
    constexpr double a = -0.5;
    x = std::abs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
    if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
    return 0.0;
  }
};

struct LanczosFilter {
  static constexpr double kSupport = 3.0;
  static double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= std::numbers::pi;
    return std::sin(x) / x;
  }
  double operator()(double x) const { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }
};

std::int32_t to_fixed(double weight) {
  const double scaled = weight * (1 << kWeightBits);
  return static_cast<std::int32_t>(weight < 0.0 ? scaled - 0.5 : scaled + 0.5);
}

template <class FilterFunction>
void compute(const Axis& axis, FilterFunction filter, AxisWeights* out) {
  const double scale = axis.in_length() / static_cast<double>(axis.out_size);
  const double filter_scale = std::max(scale, 1.0);
  const double inverse_scale = 1.0 / filter_scale;
  const double support = FilterFunction::kSupport * filter_scale;
  const auto widest = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
  out->is_identity = false;
  out->max_taps = std::min(widest, axis.in_size);
  const auto stride = static_cast<std::size_t>(out->max_taps);
  const auto count = static_cast<std::size_t>(axis.count);
  resize_with_room(&out->first, count);
  resize_with_room(&out->num_taps, count);
  resize_with_room(&out->weights, count * stride);
  resize_with_room(&out->exact, stride);
  double* exact = out->exact.data();

  for (std::size_t i = 0; i < count; ++i) {
    const double center =
        axis.start + (static_cast<double>(axis.begin + static_cast<std::int64_t>(i)) + 0.5) * scale;
    // Both are cut towards zero, as Pillow's conversions are.
    const auto begin = std::max(static_cast<std::int64_t>(center - support + 0.5), std::int64_t{0});
    const auto end = std::min(static_cast<std::int64_t>(center + support + 0.5), axis.in_size);
    const auto num_taps =
        static_cast<std::size_t>(std::clamp(end - begin, std::int64_t{0}, out->max_taps));
    double sum = 0.0;
    for (std::size_t t = 0; t < num_taps; ++t) {
      const auto position = static_cast<double>(begin + static_cast<std::int64_t>(t));
      exact[t] = filter((position - center + 0.5) * inverse_scale);
      sum += exact[t];
    }
    if (sum == 0.0) sum = 1.0;
    std::int32_t* weights = out->weights.data() + i * stride;
    for (std::size_t t = 0; t < num_taps; ++t) weights[t] = to_fixed(exact[t] / sum);
    out->first[i] = static_cast<std::int32_t>(begin);
    out->num_taps[i] = static_cast<std::int32_t>(num_taps);
  }
}

void compute_identity(const Axis& axis, AxisWeights* out) {
  const auto count = static_cast<std::size_t>(axis.count);
  out->is_identity = true;
  out->max_taps = 1;
  resize_with_room(&out->first, count);
  for (std::size_t i = 0; i < count; ++i) {
    out->first[i] = static_cast<std::int32_t>(axis.begin + static_cast<std::int64_t>(i));
  }
  resize_with_room(&out->num_taps, count);
  std::fill(out->num_taps.begin(), out->num_taps.end(), 1);
  resize_with_room(&out->weights, count);
  std::fill(out->weights.begin(), out->weights.end(), 1 << kWeightBits);
}

// The lowest 8 bits as a signed number, which leaves a multiple of 2^8.
std::int32_t low_digit(std::int32_t weight) { return static_cast<std::int8_t>(weight & 0xFF); }

std::uint32_t field(std::int32_t digit, std::int64_t lane, int bits) {
  const std::uint32_t mask = (std::uint32_t{1} << bits) - 1;
  return (static_cast<std::uint32_t>(digit) & mask) << (lane * bits);
}

// Puts one output's weights, the first at `lead`, into words that are 0.
template <WeightLayout layout>
void put_weights(const std::int32_t* weights, std::int64_t count, std::int64_t lead,
                 std::uint32_t* words) {
  if constexpr (layout == WeightLayout::kSplit) *words++ = 1u << (kWeightBits - 1);
  for (std::int64_t t = 0; t < count; ++t) {
    const std::int32_t weight = weights[t];
    const std::int32_t low = low_digit(weight);
    const std::int32_t high = (weight - low) >> 8;
    const std::int64_t place = lead + t;
    if constexpr (layout == WeightLayout::kPlain) {
      words[t] = static_cast<std::uint32_t>(weight);
    } else if constexpr (layout == WeightLayout::kSplit) {
      words[t] = field(high, 0, 16) | field(low, 1, 16);
      words[-1] += static_cast<std::uint32_t>(high) << 15;
    } else if constexpr (layout == WeightLayout::kPairs) {
      std::uint32_t* unit = words + place / 2 * 2;
      unit[0] |= field(high, place % 2, 16);
      unit[1] |= field(low, place % 2, 16);
    } else {
      const std::int32_t middle = low_digit(high);
      std::uint32_t* unit = words + place / 4 * 3;
      unit[0] |= field((high - middle) >> 8, place % 4, 8);
      unit[1] |= field(middle, place % 4, 8);
      unit[2] |= field(low, place % 4, 8);
    }
  }
}

template <WeightLayout layout>
void pack(const AxisWeights& weights, bool aligned, PackedAxis* out) {
  constexpr std::int64_t taps = unit_taps(layout);
  const std::size_t count = weights.first.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t first = weights.first[i] - out->source_begin;
    const std::int64_t lead = aligned ? first % taps : 0;
    const std::int64_t num_units = (lead + weights.num_taps[i] + taps - 1) / taps;
    out->first[i] = static_cast<std::int32_t>(aligned ? first / taps : first);
    out->num_units[i] = static_cast<std::int32_t>(num_units);
    out->max_units = std::max(out->max_units, num_units);
  }
  out->stride = out->max_units * unit_words(layout) + (layout == WeightLayout::kSplit ? 1 : 0);
  std::uint32_t* words = reinterpret_cast<std::uint32_t*>(out->num_units.data() + count);
  out->words = {words, count * static_cast<std::size_t>(out->stride)};
  std::fill(out->words.begin(), out->words.end(), 0);
  const std::int32_t* from = weights.weights.data();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t lead = aligned ? (weights.first[i] - out->source_begin) % taps : 0;
    put_weights<layout>(from, weights.num_taps[i], lead, words);
    words += out->stride;
    from += weights.max_taps;
  }
}

}  // namespace

void compute_weights(const Axis& axis, AxisWeights* out) {
  if (is_identity(axis)) return compute_identity(axis, out);
  switch (axis.filter) {
    case Filter::kNearest:
    case Filter::kBox:
      return compute(axis, BoxFilter(), out);
    case Filter::kBilinear:
      return compute(axis, BilinearFilter(), out);
    case Filter::kHamming:
      return compute(axis, HammingFilter(), out);
    case Filter::kBicubic:
      return compute(axis, BicubicFilter(), out);
    case Filter::kLanczos:
      return compute(axis, LanczosFilter(), out);
  }
}

std::size_t packed_words(const AxisWeights& weights, WeightLayout layout) {
  const std::int64_t taps = unit_taps(layout);
  // Up to taps - 1 before the first tap and as many behind the last.
  const std::int64_t units = (weights.max_taps + 2 * (taps - 1)) / taps;
  const auto words = static_cast<std::size_t>(units * unit_words(layout) + 1);
  return std::max<std::size_t>(1, weights.first.size() * (2 + words));
}

PackedAxis pack_weights(const AxisWeights& weights, WeightLayout layout, bool aligned,
                        std::uint32_t* memory) {
  const std::size_t count = weights.first.size();
  PackedAxis out;
  out.source_begin = weights.first.front();
  out.source_end = out.source_begin + 1;
  for (std::size_t i = 0; i < count; ++i) {
    out.source_begin = std::min(out.source_begin, std::int64_t{weights.first[i]});
    out.source_end = std::max(out.source_end, std::int64_t{weights.first[i]} + weights.num_taps[i]);
  }
  out.is_identity = weights.is_identity;
  out.max_units = 1;
  out.first = {reinterpret_cast<std::int32_t*>(memory), count};
  out.num_units = {out.first.data() + count, count};
  switch (layout) {
    case WeightLayout::kPlain:
      pack<WeightLayout::kPlain>(weights, aligned, &out);
      break;
    case WeightLayout::kSplit:
      pack<WeightLayout::kSplit>(weights, aligned, &out);
      break;
    case WeightLayout::kPairs:
      pack<WeightLayout::kPairs>(weights, aligned, &out);
      break;
    case WeightLayout::kQuads:
      pack<WeightLayout::kQuads>(weights, aligned, &out);
      break;
  }
  return out;
}

}  // namespace dts
