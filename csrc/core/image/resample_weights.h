// SPDX-License-Identifier: Apache-2.0
// One axis of a resize: which source pixels each output reads and with which weights, in
// Pillow's arithmetic, and the same packed as the kernels want it. Pure functions into
// memory of the caller, who uses it again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "image/resample.h"

namespace dts {

// Fixed-point bits of a weight: 8 are the pixel's, 2 are room for weights outside of
// [0, 1] and the sign.
inline constexpr int kWeightBits = 32 - 8 - 2;

// Outputs [begin, begin + count) of an axis that goes from in_size to out_size pixels.
struct Axis {
  Filter filter = Filter::kBilinear;
  std::int64_t in_size = 0, out_size = 0;
  std::int64_t begin = 0, count = 0;
  // What becomes the outputs, where that is not all of the in_size pixels: from place `start` on
  // so much.
  double start = 0, length = 0;
  double in_length() const { return length > 0 ? length : static_cast<double>(in_size); }
  bool operator==(const Axis&) const = default;
};

struct AxisWeights {
  std::vector<std::int32_t> first;     // by output: the first source pixel it reads
  std::vector<std::int32_t> num_taps;  // by output: how many it reads
  std::vector<std::int32_t> weights;   // [output][max_taps], anything beyond num_taps
  std::int64_t max_taps = 0;
  bool is_identity = false;   // equal sizes: one tap of weight 1 each
  std::vector<double> exact;  // scratch: one output's weights before rounding
};

// Whether outputs are the source's pixels.
inline bool is_identity(const Axis& axis) {
  return axis.in_size == axis.out_size && axis.start == 0 &&
         axis.in_length() == static_cast<double>(axis.in_size);
}

// Pillow's weights. Equal sizes give the identity, whatever the filter: Pillow skips that
// pass. The filter must not be kNearest.
void compute_weights(const Axis& axis, AxisWeights* out);

// How a kernel wants the weights of an output: in units of `unit_taps()` neighbouring
// taps, each unit in `unit_words()` 32-bit words. Digits are signed and stand in their
// word side by side, the first tap in the lowest bits.
enum class WeightLayout {
  kPlain,  // 1 tap, 1 word: the weight w
  kSplit,  // 1 tap, 1 word: 16-bit digits d0, d1 with w = d0 * 2^8 + d1. Before an output's
           // first unit stands its bias, 2^21 + 2^15 * (sum of its d0)
  kPairs,  // 2 taps, 2 words: 16-bit digits, d0 of both, then d1 of both
  kQuads,  // 4 taps, 3 words: 8-bit digits, w = d0 * 2^16 + d1 * 2^8 + d2, d0 of all first
};
// d0 can hold weights up to 1.98; none reaches 1.3 (Lanczos over two pixels comes nearest).

constexpr int unit_taps(WeightLayout layout) {
  if (layout == WeightLayout::kQuads) return 4;
  return layout == WeightLayout::kPairs ? 2 : 1;
}
constexpr int unit_words(WeightLayout layout) {
  if (layout == WeightLayout::kQuads) return 3;
  return layout == WeightLayout::kPairs ? 2 : 1;
}

// Its arrays are in the memory that was lent to pack_weights().
struct PackedAxis {
  std::int64_t source_begin = 0, source_end = 0;  // pixels read by any output
  // By output, relative to source_begin: the first pixel, or with `aligned` the first
  // unit, units starting at multiples of unit_taps().
  std::span<std::int32_t> first;
  std::span<std::int32_t> num_units;
  std::span<std::uint32_t> words;  // [output][stride], units beyond num_units are 0
  std::int64_t stride = 0;
  std::int64_t max_units = 0;
  bool is_identity = false;
};

// How many words to lend for these weights, at least 1; not all may be used.
std::size_t packed_words(const AxisWeights& weights, WeightLayout layout);
// `memory`: packed_words() of them. The arrays lie in it from its begin, one behind the other.
PackedAxis pack_weights(const AxisWeights& weights, WeightLayout layout, bool aligned,
                        std::uint32_t* memory);

}  // namespace dts
