// SPDX-License-Identifier: Apache-2.0
#include "image/resample_weights.h"

#include <doctest/doctest.h>

#include <cstdlib>

#include "image/packed_axis.h"
#include "image/reference_resize.h"

namespace dts {
namespace {

using testing::draw;
using testing::Random;
using testing::Taps;
using testing::taps_of;

constexpr Filter kFilters[] = {Filter::kBox, Filter::kBilinear, Filter::kHamming, Filter::kBicubic,
                               Filter::kLanczos};
constexpr WeightLayout kLayouts[] = {WeightLayout::kPlain, WeightLayout::kSplit,
                                     WeightLayout::kPairs, WeightLayout::kQuads};

// An axis with sizes from tiny to large, and any window of it.
Axis random_axis(Random& random) {
  Axis axis;
  axis.filter = kFilters[draw(random, 0, 4)];
  axis.in_size = draw(random, 1, draw(random, 0, 1) != 0 ? 12 : 700);
  axis.out_size = draw(random, 1, draw(random, 0, 1) != 0 ? 12 : 700);
  axis.begin = draw(random, 0, axis.out_size - 1);
  axis.count = draw(random, 1, axis.out_size - axis.begin);
  return axis;
}

// Field `lane` of a word with `bits` bits a field, as a signed number.
std::int64_t field(std::uint32_t word, std::int64_t lane, int bits) {
  const std::uint32_t shifted = word << (32 - bits * (lane + 1));
  return static_cast<std::int32_t>(shifted) >> (32 - bits);
}

// The weight of tap `place` of a packed output.
std::int64_t unpack(const std::uint32_t* words, WeightLayout layout, std::int64_t place) {
  switch (layout) {
    case WeightLayout::kPlain:
      return static_cast<std::int32_t>(words[place]);
    case WeightLayout::kSplit:
      return field(words[place + 1], 0, 16) * 256 + field(words[place + 1], 1, 16);
    case WeightLayout::kPairs: {
      const std::uint32_t* unit = words + place / 2 * 2;
      return field(unit[0], place % 2, 16) * 256 + field(unit[1], place % 2, 16);
    }
    case WeightLayout::kQuads:
      break;
  }
  const std::uint32_t* unit = words + place / 4 * 3;
  return field(unit[0], place % 4, 8) * 65536 + field(unit[1], place % 4, 8) * 256 +
         field(unit[2], place % 4, 8);
}

TEST_CASE("weights: random axes agree with the definition") {
  Random random(1);
  AxisWeights weights;
  for (int round = 0; round < 600; ++round) {
    const Axis axis = random_axis(random);
    if (axis.in_size == axis.out_size) continue;
    compute_weights(axis, &weights);
    REQUIRE(weights.first.size() == static_cast<std::size_t>(axis.count));
    REQUIRE(!weights.is_identity);
    for (std::int64_t i = 0; i < axis.count; ++i) {
      const auto place = static_cast<std::size_t>(i);
      const Taps taps = taps_of(axis.filter, axis.in_size, axis.out_size, axis.begin + i);
      REQUIRE(weights.first[place] == taps.first);
      REQUIRE(weights.num_taps[place] == static_cast<std::int64_t>(taps.weights.size()));
      for (std::size_t t = 0; t < taps.weights.size(); ++t) {
        REQUIRE(weights.weights[place * static_cast<std::size_t>(weights.max_taps) + t] ==
                taps.weights[t]);
      }
    }
  }
}

TEST_CASE("weights: equal sizes are the identity for every filter") {
  AxisWeights weights;
  for (const Filter filter : kFilters) {
    compute_weights({filter, 9, 9, 2, 5}, &weights);
    CHECK(weights.is_identity);
    CHECK(weights.first == std::vector<std::int32_t>{2, 3, 4, 5, 6});
    CHECK(weights.num_taps == std::vector<std::int32_t>(5, 1));
    CHECK(weights.weights == std::vector<std::int32_t>(5, 1 << 22));
  }
}

TEST_CASE("weights: every layout holds them, aligned or not") {
  Random random(2);
  AxisWeights weights;
  for (int round = 0; round < 400; ++round) {
    const Axis axis = random_axis(random);
    const WeightLayout layout = kLayouts[round % 4];
    const bool aligned = draw(random, 0, 1) != 0;
    compute_weights(axis, &weights);
    const testing::OwnedAxis owned(weights, layout, aligned);
    const PackedAxis& packed = owned.axis;
    const std::int64_t taps = unit_taps(layout);
    REQUIRE(packed.is_identity == (axis.in_size == axis.out_size));
    REQUIRE(packed.source_begin == weights.first.front());
    REQUIRE(packed.source_end == weights.first.back() + weights.num_taps.back());
    const bool has_bias = layout == WeightLayout::kSplit;
    REQUIRE(packed.stride == packed.max_units * unit_words(layout) + (has_bias ? 1 : 0));
    for (std::size_t i = 0; i < weights.first.size(); ++i) {
      const std::uint32_t* words =
          packed.words.data() + i * static_cast<std::size_t>(packed.stride);
      const std::int64_t start = packed.first[i] * (aligned ? taps : 1) + packed.source_begin;
      const std::int64_t lead = weights.first[i] - start;
      REQUIRE(lead >= 0);
      REQUIRE(lead < taps);
      REQUIRE((aligned || lead == 0));
      REQUIRE(packed.num_units[i] <= packed.max_units);
      REQUIRE(packed.num_units[i] == (lead + weights.num_taps[i] + taps - 1) / taps);
      std::int64_t bias = 1 << 21;
      for (std::int64_t place = 0; place < packed.max_units * taps; ++place) {
        const bool is_tap = place >= lead && place < lead + weights.num_taps[i];
        const std::size_t from = i * static_cast<std::size_t>(weights.max_taps) +
                                 static_cast<std::size_t>(is_tap ? place - lead : 0);
        REQUIRE(unpack(words, layout, place) == (is_tap ? weights.weights[from] : 0));
        if (has_bias) bias += field(words[place + 1], 0, 16) * 32768;
      }
      if (has_bias) REQUIRE(static_cast<std::int32_t>(words[0]) == bias);
    }
  }
}

// The digits of the layouts and the kernels' 32-bit sums rest on these bounds.
TEST_CASE("weights: none reaches 1.3, no output's absolute sum 1.6") {
  AxisWeights weights;
  std::int64_t largest = 0, largest_sum = 0;
  const auto look = [&](Filter filter, std::int64_t in_size, std::int64_t out_size) {
    compute_weights({filter, in_size, out_size, 0, out_size}, &weights);
    for (std::size_t i = 0; i < weights.first.size(); ++i) {
      std::int64_t sum = 0;
      for (std::int32_t t = 0; t < weights.num_taps[i]; ++t) {
        const std::int64_t weight =
            std::abs(weights.weights[i * static_cast<std::size_t>(weights.max_taps) +
                                     static_cast<std::size_t>(t)]);
        largest = std::max(largest, weight);
        sum += weight;
      }
      largest_sum = std::max(largest_sum, sum);
    }
  };
  for (const Filter filter : kFilters) {
    for (std::int64_t in_size = 1; in_size <= 40; ++in_size) {
      for (std::int64_t out_size = 1; out_size <= 40; ++out_size) look(filter, in_size, out_size);
      look(filter, in_size, 3001);
    }
  }
  CHECK(largest < (1 << 22) * 1.3);
  CHECK(largest > (1 << 22) * 1.28);
  CHECK(largest_sum < (1 << 22) * 1.6);
}

}  // namespace
}  // namespace dts
