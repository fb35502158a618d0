// SPDX-License-Identifier: Apache-2.0
#include "order/shard.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "order/shuffle.h"
#include "order/vectors.h"

namespace {

using Samples = std::vector<std::int64_t>;

Samples block_sizes(std::size_t count, std::int64_t largest) {
  Samples sizes;
  for (std::size_t i = 0; i < count; ++i) {
    sizes.push_back(1 +
                    static_cast<std::int64_t>((i * 7919 + 13) % static_cast<std::size_t>(largest)));
  }
  return sizes;
}

std::int64_t sum(const Samples& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

Samples union_of_ranks(const Samples& sizes, std::int64_t window, std::int64_t num_replicas) {
  Samples all;
  for (std::int64_t rank = 0; rank < num_replicas; ++rank) {
    const Samples part = dts::sample_order(sizes, 5, 2, window, num_replicas, rank);
    const dts::RankRange range = dts::rank_range(sum(sizes), num_replicas, rank);
    CHECK(static_cast<std::int64_t>(part.size()) == range.last - range.first);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE("sample_order gives the known orders of all ranks") {
  const auto& entries = dts::testing::vectors("order.json")["rank_order"];
  REQUIRE(entries.size() == 8);
  for (const auto& entry : entries) {
    const Samples sizes = dts::testing::int64s(entry["block_sizes"]);
    const auto& window = entry["shuffle_window"];
    const auto num_replicas = entry["num_replicas"].get<std::int64_t>();
    REQUIRE(entry["ranks"].size() == static_cast<std::size_t>(num_replicas));
    for (std::int64_t rank = 0; rank < num_replicas; ++rank) {
      CHECK(dts::sample_order(
                sizes, entry["seed"].get<std::uint64_t>(), entry["epoch"].get<std::uint64_t>(),
                window == "all" ? 0 : window.get<std::int64_t>(), num_replicas,
                rank) == dts::testing::int64s(entry["ranks"][static_cast<std::size_t>(rank)]));
    }
  }
}

TEST_CASE("rank_range cuts without gap or overlap, by at most one sample unevenly") {
  for (const std::int64_t n : {0ll, 1ll, 10ll, 63ll, 1281167ll, (1ll << 40) - 1, 1ll << 40}) {
    for (const std::int64_t num_replicas : {1, 3, 7, 64, 1024}) {
      std::int64_t expected_first = 0;
      for (std::int64_t rank = 0; rank < num_replicas; ++rank) {
        const dts::RankRange range = dts::rank_range(n, num_replicas, rank);
        CHECK(range.first == expected_first);
        CHECK(range.last - range.first >= n / num_replicas);
        CHECK(range.last - range.first <= n / num_replicas + 1);
        expected_first = range.last;
      }
      CHECK(expected_first == n);
    }
  }
}

TEST_CASE("rank_range does not overflow where rank * n passes 2^64") {
  constexpr std::int64_t kSamples = (1ll << 40) + 12345;
  constexpr std::int64_t kReplicas = (1ll << 30) + 7;
  // Worked out with arbitrary-precision integers.
  const dts::RankRange last = dts::rank_range(kSamples, kReplicas, kReplicas - 1);
  CHECK(last.first == 1099511639096);
  CHECK(last.last == kSamples);
  const dts::RankRange middle = dts::rank_range(kSamples, kReplicas, 987654321);
  CHECK(middle.first == 1011358029465);
  CHECK(middle.last == 1011358030489);
}

TEST_CASE("the ranks together deliver every sample once") {
  const Samples sizes = block_sizes(97, 40);
  Samples expected(static_cast<std::size_t>(sum(sizes)));
  std::iota(expected.begin(), expected.end(), std::int64_t{0});
  for (const std::int64_t window : {0, 1, 4, 16, 1000}) {
    for (const std::int64_t num_replicas : {1, 3, 7, 64, 1024}) {
      Samples all = union_of_ranks(sizes, window, num_replicas);
      std::ranges::sort(all);
      CHECK(all == expected);
    }
  }
}

TEST_CASE("fewer samples than ranks, and no samples at all") {
  for (const std::int64_t window : {0, 2}) {
    Samples all = union_of_ranks({2, 1, 2}, window, 64);
    std::ranges::sort(all);
    CHECK(all == Samples{0, 1, 2, 3, 4});
    CHECK(union_of_ranks({}, window, 3).empty());
    CHECK(union_of_ranks({0, 0}, window, 3).empty());
  }
}

TEST_CASE("rank_runs is the stream by blocks, and sample_order its permuted groups") {
  const Samples sizes = block_sizes(50, 9);
  Samples first(sizes.size(), 0);
  std::partial_sum(sizes.begin(), sizes.end() - 1, first.begin() + 1);
  const Samples order = dts::block_order(50, 5, 2);
  Samples stream;
  for (const std::int64_t block : order) {
    const auto b = static_cast<std::size_t>(block);
    for (std::int64_t k = 0; k < sizes[b]; ++k) stream.push_back(first[b] + k);
  }

  constexpr std::int64_t kWindow = 4;
  for (const std::int64_t num_replicas : {1, 3, 7, 64}) {
    for (std::int64_t rank = 0; rank < num_replicas; ++rank) {
      const auto runs = dts::rank_runs(sizes, 5, 2, kWindow, num_replicas, rank);
      Samples by_runs;
      Samples by_groups;
      Samples group;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        const dts::BlockRun& run = runs[i];
        CHECK(order[static_cast<std::size_t>(run.place)] == run.block_id);
        CHECK(run.group == static_cast<std::int64_t>(i) / kWindow);
        CHECK(run.num_samples >= 1);
        for (std::int64_t k = 0; k < run.num_samples; ++k) group.push_back(run.first_sample + k);
        if (i + 1 == runs.size() || runs[i + 1].group != run.group) {
          by_runs.insert(by_runs.end(), group.begin(), group.end());
          dts::shuffle_group(group, 5, 2, runs[i / kWindow * kWindow].place);
          by_groups.insert(by_groups.end(), group.begin(), group.end());
          group.clear();
        }
      }
      const dts::RankRange range = dts::rank_range(sum(sizes), num_replicas, rank);
      CHECK(by_runs == Samples(stream.begin() + range.first, stream.begin() + range.last));
      CHECK(by_groups == dts::sample_order(sizes, 5, 2, kWindow, num_replicas, rank));
    }
  }
}

TEST_CASE("blocks without samples change nothing for the others' runs") {
  const Samples sizes = {3, 0, 2, 0, 0, 4};
  for (const dts::BlockRun& run : dts::rank_runs(sizes, 1, 0, 2, 1, 0)) {
    CHECK(run.num_samples == sizes[static_cast<std::size_t>(run.block_id)]);
  }
  CHECK(dts::rank_runs(sizes, 1, 0, 2, 1, 0).size() == 3);
}

TEST_CASE("shuffle_group takes places beyond 65535 by x") {
  Samples expected = {1, 2, 3, 4, 5, 6, 7, 8};
  Samples group = expected;
  dts::fisher_yates(expected, 9 ^ (3ull << 32) ^ (0x2345ull << 16), 0x1);
  dts::shuffle_group(group, 9, 3, 0x12345);
  CHECK(group == expected);
}

TEST_CASE("the window \"all\" is the uniform order, cut") {
  const Samples sizes = {4, 1, 5};
  const Samples all = dts::uniform_order(10, 8, 6);
  CHECK(dts::sample_order(sizes, 8, 6, 0, 3, 1) == Samples(all.begin() + 3, all.begin() + 6));
  const auto runs = dts::rank_runs(sizes, 8, 6, 0, 1, 0);
  CHECK(runs.size() == 3);
  CHECK(runs.back().group == 0);
}

TEST_CASE("bad arguments are refused with their values") {
  const Samples sizes = {1, 2};
  CHECK_THROWS_WITH_AS(dts::sample_order(sizes, 0, 0, 1, 2, 2),
                       "rank is 2 of num_replicas 2, expected 0 <= rank < num_replicas",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::rank_range(5, 0, 0),
                       "rank is 0 of num_replicas 0, expected 0 <= rank < num_replicas",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::rank_range(-5, 1, 0), "num_samples is -5, expected >= 0",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::rank_runs(sizes, 0, 0, -1, 1, 0),
                       "shuffle_window is -1, expected a number of blocks >= 1, or 0 for all",
                       dts::InvalidArgument);
  CHECK_THROWS_AS(dts::sample_order(Samples{1, -2}, 0, 0, 1, 1, 0), dts::InvalidArgument);
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  CHECK_THROWS_AS(dts::rank_runs(Samples{kHuge, kHuge}, 0, 0, 1, 1, 0), dts::InvalidArgument);
}

TEST_CASE("write_sample_order wants room for the rank's samples, and no other") {
  const Samples sizes = block_sizes(9, 5);
  const std::int64_t expected = dts::num_rank_samples(sizes, 3, 1);
  CHECK(expected ==
        dts::rank_range(sum(sizes), 3, 1).last - dts::rank_range(sum(sizes), 3, 1).first);
  for (const std::int64_t window : {0, 2}) {
    Samples room(static_cast<std::size_t>(expected) + 1);
    CHECK_THROWS_WITH_AS(dts::write_sample_order(sizes, 5, 2, window, 3, 1, room),
                         ("room for " + std::to_string(expected + 1) + " samples, expected " +
                          std::to_string(expected))
                             .c_str(),
                         dts::InvalidArgument);
    room.pop_back();
    dts::write_sample_order(sizes, 5, 2, window, 3, 1, room);
    CHECK(room == dts::sample_order(sizes, 5, 2, window, 3, 1));
  }
}
