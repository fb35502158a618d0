// SPDX-License-Identifier: Apache-2.0
#include "order/shard.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "base/error.h"
#include "order/shuffle.h"

namespace dts {
namespace {

__extension__ typedef unsigned __int128 Wide;

// First stored sample of each block, and the number of all samples at the end.
std::vector<std::int64_t> first_samples(std::span<const std::int64_t> block_sizes) {
  std::vector<std::int64_t> first;
  first.reserve(block_sizes.size() + 1);
  std::int64_t total = 0;
  for (std::size_t block = 0; block < block_sizes.size(); ++block) {
    const std::int64_t size = block_sizes[block];
    if (size < 0 || size > std::numeric_limits<std::int64_t>::max() - total) {
      throw InvalidArgument("block " + std::to_string(block) + " has " + std::to_string(size) +
                            " samples after " + std::to_string(total) +
                            " in the blocks before it; expected >= 0 and a sum below 2^63");
    }
    first.push_back(total);
    total += size;
  }
  first.push_back(total);
  return first;
}

void check_window(std::int64_t shuffle_window) {
  if (shuffle_window < 0) {
    throw InvalidArgument("shuffle_window is " + std::to_string(shuffle_window) +
                          ", expected a number of blocks >= 1, or 0 for all");
  }
}

// Calls visit(run) for each of the rank's runs, in order (see rank_runs).
template <class Visit>
void for_each_run(std::span<const std::int64_t> block_sizes, const std::vector<std::int64_t>& first,
                  const RankRange& range, std::uint64_t seed, std::uint64_t epoch,
                  std::int64_t shuffle_window, Visit visit) {
  const std::vector<std::int64_t> order =
      block_order(static_cast<std::int64_t>(block_sizes.size()), seed, epoch);
  std::int64_t begin = 0;  // position of the present block in the stream
  std::int64_t num_runs = 0;
  for (std::size_t place = 0; place < order.size() && begin < range.last; ++place) {
    const std::int64_t block = order[place];
    const std::int64_t end = begin + block_sizes[static_cast<std::size_t>(block)];
    const std::int64_t from = std::max(begin, range.first);
    const std::int64_t to = std::min(end, range.last);
    if (from < to) {
      const std::int64_t group = shuffle_window == 0 ? 0 : num_runs / shuffle_window;
      const std::int64_t stored = first[static_cast<std::size_t>(block)] + from - begin;
      visit(BlockRun{block, stored, to - from, group, static_cast<std::int64_t>(place)});
      ++num_runs;
    }
    begin = end;
  }
}

}  // namespace

RankRange rank_range(std::int64_t num_samples, std::int64_t num_replicas, std::int64_t rank) {
  if (num_samples < 0) {
    throw InvalidArgument("num_samples is " + std::to_string(num_samples) + ", expected >= 0");
  }
  if (num_replicas < 1 || rank < 0 || rank >= num_replicas) {
    throw InvalidArgument("rank is " + std::to_string(rank) + " of num_replicas " +
                          std::to_string(num_replicas) + ", expected 0 <= rank < num_replicas");
  }
  const auto cut = [&](std::int64_t r) {
    const Wide product = static_cast<Wide>(r) * static_cast<Wide>(num_samples);
    return static_cast<std::int64_t>(product / static_cast<Wide>(num_replicas));
  };
  return {cut(rank), cut(rank + 1)};
}

std::vector<BlockRun> rank_runs(std::span<const std::int64_t> block_sizes, std::uint64_t seed,
                                std::uint64_t epoch, std::int64_t shuffle_window,
                                std::int64_t num_replicas, std::int64_t rank) {
  check_window(shuffle_window);
  const std::vector<std::int64_t> first = first_samples(block_sizes);
  const RankRange range = rank_range(first.back(), num_replicas, rank);
  std::vector<BlockRun> runs;
  for_each_run(block_sizes, first, range, seed, epoch, shuffle_window,
               [&](const BlockRun& run) { runs.push_back(run); });
  return runs;
}

void shuffle_group(std::span<std::int64_t> samples, std::uint64_t seed, std::uint64_t epoch,
                   std::int64_t place) {
  const auto p = static_cast<std::uint64_t>(place);
  fisher_yates(samples, seed ^ (epoch << 32) ^ ((p & 0xFFFF) << 16),
               static_cast<std::uint32_t>(p >> 16));
}

std::int64_t num_rank_samples(std::span<const std::int64_t> block_sizes, std::int64_t num_replicas,
                              std::int64_t rank) {
  const RankRange range = rank_range(first_samples(block_sizes).back(), num_replicas, rank);
  return range.last - range.first;
}

void write_sample_order(std::span<const std::int64_t> block_sizes, std::uint64_t seed,
                        std::uint64_t epoch, std::int64_t shuffle_window, std::int64_t num_replicas,
                        std::int64_t rank, std::span<std::int64_t> samples) {
  check_window(shuffle_window);
  const std::vector<std::int64_t> first = first_samples(block_sizes);
  const RankRange range = rank_range(first.back(), num_replicas, rank);
  if (static_cast<std::int64_t>(samples.size()) != range.last - range.first) {
    throw InvalidArgument("room for " + std::to_string(samples.size()) + " samples, expected " +
                          std::to_string(range.last - range.first));
  }
  if (shuffle_window == 0) {
    uniform_order_part(first.back(), seed, epoch, range.first, samples);
    return;
  }
  std::size_t group_begin = 0, end = 0;
  std::int64_t group = 0, group_place = 0;
  const auto shuffle = [&] {
    shuffle_group(samples.subspan(group_begin, end - group_begin), seed, epoch, group_place);
    group_begin = end;
  };
  for_each_run(block_sizes, first, range, seed, epoch, shuffle_window, [&](const BlockRun& run) {
    if (run.group != group) shuffle();
    if (end == group_begin) group_place = run.place;
    group = run.group;
    const auto count = static_cast<std::size_t>(run.num_samples);
    const std::span<std::int64_t> part = samples.subspan(end, count);
    std::iota(part.begin(), part.end(), run.first_sample);
    end += count;
  });
  shuffle();
}

std::vector<std::int64_t> sample_order(std::span<const std::int64_t> block_sizes,
                                       std::uint64_t seed, std::uint64_t epoch,
                                       std::int64_t shuffle_window, std::int64_t num_replicas,
                                       std::int64_t rank) {
  std::vector<std::int64_t> samples(
      static_cast<std::size_t>(num_rank_samples(block_sizes, num_replicas, rank)));
  write_sample_order(block_sizes, seed, epoch, shuffle_window, num_replicas, rank, samples);
  return samples;
}

}  // namespace dts
