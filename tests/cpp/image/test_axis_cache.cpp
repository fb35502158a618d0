// SPDX-License-Identifier: Apache-2.0
#include "image/axis_cache.h"

#include <doctest/doctest.h>

namespace dts {
namespace {

bool is_right(const PackedAxis& packed, const Axis& axis, WeightLayout layout, bool aligned) {
  AxisWeights weights;
  PackedAxis expected;
  compute_weights(axis, &weights);
  pack_weights(weights, layout, aligned, &expected);
  return packed.words == expected.words && packed.first == expected.first &&
         packed.num_units == expected.num_units && packed.max_units == expected.max_units &&
         packed.source_begin == expected.source_begin && packed.source_end == expected.source_end;
}

TEST_CASE("axis cache: the same axis is computed once") {
  AxisCache cache(WeightLayout::kPairs, true);
  const Axis axis = {Filter::kBilinear, 300, 224, 0, 224}, other = {Filter::kBox, 300, 224, 0, 224};
  const PackedAxis* first = &cache.get(axis);
  const std::uint32_t* words = first->words.data();
  CHECK(cache.get(axis).words.data() == words);
  CHECK(cache.get(other).words.data() != words);
  CHECK(cache.get(axis).words.data() == words);
}

TEST_CASE("axis cache: axes that differ in one field are kept apart") {
  AxisCache cache(WeightLayout::kQuads, false);
  const Axis base = {Filter::kBicubic, 90, 60, 10, 20};
  for (const Axis& axis :
       {base, Axis{Filter::kLanczos, 90, 60, 10, 20}, Axis{Filter::kBicubic, 91, 60, 10, 20},
        Axis{Filter::kBicubic, 90, 61, 10, 20}, Axis{Filter::kBicubic, 90, 60, 11, 20},
        Axis{Filter::kBicubic, 90, 60, 10, 21}}) {
    CHECK(is_right(cache.get(axis), axis, WeightLayout::kQuads, false));
  }
}

TEST_CASE("axis cache: right also after many more axes than it holds") {
  AxisCache cache(WeightLayout::kSplit, false);
  for (std::int64_t round = 0; round < 3; ++round) {
    for (std::int64_t size = 1; size < 200; ++size) {
      const Axis axis = {Filter::kBilinear, size, 1 + size * 7 % 50, 0, 1 + size * 7 % 50};
      REQUIRE(is_right(cache.get(axis), axis, WeightLayout::kSplit, false));
      const Axis constant = {Filter::kBilinear, 33, 44, 0, 44};
      REQUIRE(is_right(cache.get(constant), constant, WeightLayout::kSplit, false));
    }
  }
}

}  // namespace
}  // namespace dts
