// SPDX-License-Identifier: Apache-2.0
#include "order/shuffle.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/philox.h"
#include "order/vectors.h"

namespace {

using dts::testing::int64s;
using dts::testing::vectors;

std::vector<std::int64_t> identity(std::int64_t n) {
  std::vector<std::int64_t> items(static_cast<std::size_t>(n));
  std::iota(items.begin(), items.end(), std::int64_t{0});
  return items;
}

}  // namespace

TEST_CASE("fisher_yates gives the known permutations") {
  const auto& entries = vectors("philox.json")["fisher_yates"];
  REQUIRE(entries.size() == 15);
  for (const auto& entry : entries) {
    std::vector<std::int64_t> items = identity(entry["n"].get<std::int64_t>());
    dts::fisher_yates(items, entry["seed"].get<std::uint64_t>());
    CHECK(items == int64s(entry["perm"]));
  }
}

TEST_CASE("fisher_yates follows its definition for any x, and permutes what it is given") {
  constexpr std::uint64_t kSeed = 0x123456789ABCDEF0u;
  constexpr std::uint32_t kX = 77;
  std::vector<std::int64_t> expected = {50, 40, 30, 20, 10};
  for (std::uint32_t i = 4; i >= 1; --i) {
    std::swap(expected[i], expected[dts::philox4x32(kSeed, {i, 0, kX, 0})[0] % (i + 1)]);
  }
  std::vector<std::int64_t> items = {50, 40, 30, 20, 10};
  dts::fisher_yates(items, kSeed, kX);
  CHECK(items == expected);
}

TEST_CASE("fisher_yates leaves lists of no and of one item alone") {
  std::vector<std::int64_t> none;
  dts::fisher_yates(none, 1);
  CHECK(none.empty());
  std::vector<std::int64_t> one = {9};
  dts::fisher_yates(one, 1);
  CHECK(one == std::vector<std::int64_t>{9});
}

TEST_CASE("block_order and uniform_order give the known orders") {
  const auto& entries = vectors("order.json");
  REQUIRE(entries["block_order"].size() == 5);
  for (const auto& entry : entries["block_order"]) {
    CHECK(dts::block_order(entry["num_blocks"].get<std::int64_t>(),
                           entry["seed"].get<std::uint64_t>(),
                           entry["epoch"].get<std::uint64_t>()) == int64s(entry["order"]));
  }
  REQUIRE(entries["uniform_order"].size() == 5);
  for (const auto& entry : entries["uniform_order"]) {
    CHECK(dts::uniform_order(entry["num_samples"].get<std::int64_t>(),
                             entry["seed"].get<std::uint64_t>(),
                             entry["epoch"].get<std::uint64_t>()) == int64s(entry["order"]));
  }
}

TEST_CASE("the epoch counts modulo 2^32 in the key, as its upper half") {
  CHECK(dts::block_order(50, 9, 5) == dts::block_order(50, 9 ^ (5ull << 32), 0));
  CHECK(dts::block_order(50, 9, 5) == dts::block_order(50, 9, 5 + (1ull << 32)));
  CHECK(dts::block_order(50, 9, 5) != dts::block_order(50, 9, 6));
  CHECK(dts::uniform_order(50, 9, 5) != dts::uniform_order(50, 9, 6));
}

TEST_CASE("orders are permutations, and short ones come out") {
  for (const std::int64_t n : {0, 1, 2, 3, 1000, 70000}) {
    for (std::vector<std::int64_t> order :
         {dts::block_order(n, 3, 4), dts::uniform_order(n, 3, 4)}) {
      std::ranges::sort(order);
      CHECK(order == identity(n));
    }
  }
}

TEST_CASE("a part of the uniform order is that part of it, and must be inside") {
  const std::vector<std::int64_t> all = dts::uniform_order(1000, 3, 4);
  for (const auto& [first, count] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 1000}, {0, 0}, {1000, 0}, {333, 400}}) {
    std::vector<std::int64_t> part(static_cast<std::size_t>(count), -1);
    dts::uniform_order_part(1000, 3, 4, first, part);
    CHECK(std::ranges::equal(part,
                             std::span(all).subspan(static_cast<std::size_t>(first), part.size())));
  }
  std::vector<std::int64_t> two(2);
  CHECK_THROWS_WITH_AS(dts::uniform_order_part(1000, 3, 4, 999, two),
                       "part of 2 samples from 999 on, expected one of the 1000 samples",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::uniform_order_part(1, 3, 4, 0, two),
                       "part of 2 samples from 0 on, expected one of the 1 samples",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::uniform_order_part(1000, 3, 4, -1, two),
                       "part of 2 samples from -1 on, expected one of the 1000 samples",
                       dts::InvalidArgument);
}

TEST_CASE("a permutation of three takes all six orders about equally often") {
  std::array<int, 6> counts = {};
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const std::vector<std::int64_t> order = dts::block_order(3, seed, 0);
    ++counts[static_cast<std::size_t>(order[0] * 2 + (order[1] > order[2]))];
  }
  // Standard deviation 28.9 around 1000.
  for (const int count : counts) CHECK(std::abs(count - 1000) < 130);
}

TEST_CASE("negative counts are refused") {
  CHECK_THROWS_WITH_AS(dts::block_order(-1, 0, 0), "num_blocks is -1, expected >= 0",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::uniform_order(-2, 0, 0), "num_samples is -2, expected >= 0",
                       dts::InvalidArgument);
}
