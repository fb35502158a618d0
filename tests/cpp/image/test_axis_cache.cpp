// SPDX-License-Identifier: Apache-2.0
#include "image/axis_cache.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "image/packed_axis.h"
#include "image/pictures.h"

namespace dts {
namespace {

bool is_right(const PackedAxis& packed, const Axis& axis, WeightLayout layout, bool aligned) {
  AxisWeights weights;
  compute_weights(axis, &weights);
  const testing::OwnedAxis owned(weights, layout, aligned);
  const PackedAxis& expected = owned.axis;
  const auto same = [](const auto& a, const auto& b) { return std::ranges::equal(a, b); };
  return same(packed.words, expected.words) && same(packed.first, expected.first) &&
         same(packed.num_units, expected.num_units) && packed.max_units == expected.max_units &&
         packed.stride == expected.stride && packed.source_begin == expected.source_begin &&
         packed.source_end == expected.source_end;
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

// Large axes use the memory up after a few, small ones the number of entries.
TEST_CASE("axis cache: right also after many more axes than it holds") {
  for (const WeightLayout layout :
       {WeightLayout::kPlain, WeightLayout::kSplit, WeightLayout::kPairs, WeightLayout::kQuads}) {
    AxisCache cache(layout, layout == WeightLayout::kPairs);
    testing::Random random(31);
    std::vector<Axis> lately;
    for (int round = 0; round < 600; ++round) {
      const std::int64_t out_size = testing::draw(random, 1, round % 3 == 0 ? 1500 : 60);
      const Axis axis = {round % 2 == 0 ? Filter::kBilinear : Filter::kLanczos,
                         testing::draw(random, 1, 900), out_size, 0, out_size};
      REQUIRE(is_right(cache.get(axis), axis, layout, layout == WeightLayout::kPairs));
      lately.push_back(axis);
      if (lately.size() > 90) lately.erase(lately.begin());
      const Axis& again = lately[static_cast<std::size_t>(
          testing::draw(random, 0, static_cast<std::int64_t>(lately.size()) - 1))];
      REQUIRE(is_right(cache.get(again), again, layout, layout == WeightLayout::kPairs));
    }
  }
}

TEST_CASE("axis cache: an axis larger than its memory fits, and the memory can be given back") {
  AxisCache cache(WeightLayout::kQuads, true);
  CHECK(cache.held_bytes() == 0);
  const Axis small = {Filter::kBilinear, 300, 224, 0, 224};
  const Axis huge = {Filter::kBilinear, 90000, 70000, 0, 70000};
  cache.get(small);
  const std::size_t usual = cache.held_bytes();
  CHECK(usual < 512 * 1024);
  CHECK(is_right(cache.get(huge), huge, WeightLayout::kQuads, true));
  CHECK(cache.held_bytes() > 70000 * 4 * 8);
  CHECK(is_right(cache.get(small), small, WeightLayout::kQuads, true));
  cache.release();
  CHECK(cache.held_bytes() == 0);
  CHECK(is_right(cache.get(small), small, WeightLayout::kQuads, true));
  CHECK(cache.held_bytes() == usual);
}

}  // namespace
}  // namespace dts
