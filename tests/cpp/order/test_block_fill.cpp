// SPDX-License-Identifier: Apache-2.0
#include "order/block_fill.h"

#include <algorithm>
#include <numeric>

#include "order/packing_sets.h"

namespace {

using dts::testing::Sizes;

Sizes identity(std::size_t count) {
  Sizes order(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  return order;
}

struct Filled {
  Sizes order;
  Sizes sizes;
  Sizes counts;
};

Filled fill_tightly(const Sizes& sizes, const dts::BlockLimits& limits, std::uint64_t seed = 1) {
  Filled filled{identity(sizes.size()), sizes, {}};
  filled.counts = dts::fill_tightly(filled.order, filled.sizes, limits, seed);
  // The columns stayed together, nothing was lost and no block is too full.
  Sizes sorted = filled.order;
  std::ranges::sort(sorted);
  CHECK(sorted == identity(sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    REQUIRE(filled.sizes[i] == sizes[static_cast<std::size_t>(filled.order[i])]);
  }
  std::size_t at = 0;
  for (const std::int64_t count : filled.counts) {
    REQUIRE(count >= 1);
    REQUIRE(count <= limits.max_samples);
    std::int64_t bytes = 0;
    for (std::int64_t k = 0; k < count; ++k) bytes += filled.sizes[at++];
    REQUIRE(bytes <= limits.capacity);
  }
  REQUIRE(at == sizes.size());
  return filled;
}

}  // namespace

TEST_CASE("fill_in_order starts a block at the first misfit or with the index full") {
  CHECK(dts::fill_in_order({}, {100, 5}).empty());
  CHECK(dts::fill_in_order(Sizes{50, 50, 1, 99, 100, 0}, {100, 5}) == Sizes{2, 2, 2});
  CHECK(dts::fill_in_order(Sizes{10, 10, 10, 10}, {100, 3}) == Sizes{3, 1});
  CHECK(dts::fill_in_order(Sizes{0, 0, 0}, {100, 1}) == Sizes{1, 1, 1});
}

TEST_CASE("fill_tightly exchanges one sample to meet the capacity") {
  // Shares: {60, 30} with 10 too little; 30 for 40 makes 100.
  const Filled filled = fill_tightly({60, 30, 64, 40, 6}, {100, 10});
  CHECK(filled.counts == Sizes{2, 3});
  CHECK(filled.order[0] == 0);
  CHECK(filled.order[1] == 3);
}

TEST_CASE("fill_tightly exchanges two samples where one is not enough") {
  // No single exchange makes 1000 of {400, 300, 200}: {310, 290} for {300, 200} does.
  const Filled filled = fill_tightly({400, 300, 200, 310, 290, 450, 50}, {1000, 10});
  CHECK(filled.counts == Sizes{3, 4});
  Sizes first(filled.sizes.begin(), filled.sizes.begin() + 3);
  CHECK(std::accumulate(first.begin(), first.end(), std::int64_t{0}) == 1000);
}

TEST_CASE("fill_tightly leaves the rest to the last block, and makes none for nothing") {
  CHECK(fill_tightly({}, {100, 10}).counts.empty());
  CHECK(fill_tightly({100}, {100, 10}).counts == Sizes{1});
  CHECK(fill_tightly({10, 20, 30}, {100, 10}).counts == Sizes{3});
  CHECK(fill_tightly({100, 100, 100}, {100, 10}).counts == Sizes{1, 1, 1});
  CHECK(fill_tightly(Sizes(7, 0), {100, 3}).counts == Sizes{3, 3, 1});
}

TEST_CASE("fill_tightly keeps to the index room") {
  const Filled filled = fill_tightly(Sizes(100, 1), {1000, 9});
  CHECK(filled.counts == Sizes{9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 1});
  // Where both limits matter.
  fill_tightly({90, 1, 1, 1, 1, 1, 1, 90, 1, 1, 1, 60, 60, 60}, {100, 3});
}

TEST_CASE("fill_tightly fills every block but the last to the byte where sizes vary") {
  Sizes sizes(4000);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = 1 + static_cast<std::int64_t>(dts::testing::uniform(5, i) * 999);
  }
  const Filled filled = fill_tightly(sizes, {20000, 1000});
  std::size_t at = 0;
  for (std::size_t block = 0; block + 1 < filled.counts.size(); ++block) {
    std::int64_t bytes = 0;
    for (std::int64_t k = 0; k < filled.counts[block]; ++k) bytes += filled.sizes[at++];
    CHECK(bytes >= 19999);
  }
  const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  CHECK(static_cast<std::int64_t>(filled.counts.size()) == (sum + 19999) / 20000);
}

TEST_CASE("fill_tightly moves few samples, and none far") {
  Sizes sizes(4000);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = 1 + static_cast<std::int64_t>(dts::testing::uniform(6, i) * 999);
  }
  const Filled filled = fill_tightly(sizes, {20000, 1000});
  std::int64_t num_moved = 0;
  std::int64_t farthest = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::int64_t distance = std::abs(filled.order[i] - static_cast<std::int64_t>(i));
    num_moved += distance != 0;
    farthest = std::max(farthest, distance);
  }
  CHECK(num_moved < 6 * static_cast<std::int64_t>(filled.counts.size()));
  CHECK(farthest < 1500);
}
