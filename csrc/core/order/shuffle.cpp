// SPDX-License-Identifier: Apache-2.0
#include "order/shuffle.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/philox.h"

namespace dts {
namespace {

constexpr std::uint32_t kUniformMark = 0x80000000u;  // keeps these counters apart from level 2's

std::uint32_t low_word(std::uint64_t value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high_word(std::uint64_t value) { return static_cast<std::uint32_t>(value >> 32); }

// Fisher-Yates with the partner of item i given by partner(i) in [0, i]. Partners are
// drawn a batch ahead: the swaps then follow each other closely enough for the
// processor to wait for many of their cache misses at once (some four times as fast for a million
// items).
template <class Item, class Partner>
void swap_down(std::span<Item> items, Partner partner) {
  std::array<std::uint64_t, 64> partners;
  std::uint64_t i = items.size();
  while (i > 1) {
    const std::uint64_t count = std::min<std::uint64_t>(partners.size(), i - 1);
    for (std::uint64_t k = 0; k < count; ++k) partners[k] = partner(i - 1 - k);
    for (std::uint64_t k = 0; k < count; ++k) std::swap(items[i - 1 - k], items[partners[k]]);
    i -= count;
  }
}

void check_count(std::int64_t count, const char* what) {
  if (count < 0) {
    throw InvalidArgument(std::string(what) + " is " + std::to_string(count) + ", expected >= 0");
  }
}

template <class Item>
std::vector<Item> identity(std::int64_t count) {
  std::vector<Item> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), Item{0});
  return items;
}

template <class Item>
std::vector<Item> uniform_items(std::int64_t num_samples, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<Item> items = identity<Item>(num_samples);
  const std::uint64_t key = seed ^ (epoch << 32);
  swap_down(std::span(items), [key](std::uint64_t i) {
    const Philox4 r = philox4x32(key, {low_word(i), kUniformMark | high_word(i), 0, 0});
    // 64 random bits: with 32 the bias of the remainder shows from some 2^28 samples on.
    return (r[0] | static_cast<std::uint64_t>(r[1]) << 32) % (i + 1);
  });
  return items;
}

template <class Item>
void copy_part(const std::vector<Item>& items, std::int64_t first, std::span<std::int64_t> part) {
  std::copy_n(items.begin() + first, part.size(), part.begin());
}

}  // namespace

void fisher_yates(std::span<std::int64_t> items, std::uint64_t seed, std::uint32_t x) {
  swap_down(items, [seed, x](std::uint64_t i) {
    return philox4x32(seed, {low_word(i), high_word(i), x, 0})[0] % (i + 1);
  });
}

std::vector<std::int64_t> block_order(std::int64_t num_blocks, std::uint64_t seed,
                                      std::uint64_t epoch) {
  check_count(num_blocks, "num_blocks");
  std::vector<std::int64_t> order = identity<std::int64_t>(num_blocks);
  fisher_yates(order, seed ^ (epoch << 32));
  return order;
}

std::vector<std::int64_t> uniform_order(std::int64_t num_samples, std::uint64_t seed,
                                        std::uint64_t epoch) {
  check_count(num_samples, "num_samples");
  return uniform_items<std::int64_t>(num_samples, seed, epoch);
}

void uniform_order_part(std::int64_t num_samples, std::uint64_t seed, std::uint64_t epoch,
                        std::int64_t first, std::span<std::int64_t> part) {
  check_count(num_samples, "num_samples");
  const auto count = static_cast<std::int64_t>(part.size());
  if (first < 0 || count > num_samples || first > num_samples - count) {
    throw InvalidArgument("part of " + std::to_string(count) + " samples from " +
                          std::to_string(first) + " on, expected one of the " +
                          std::to_string(num_samples) + " samples");
  }
  if (num_samples <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
    copy_part(uniform_items<std::uint32_t>(num_samples, seed, epoch), first, part);
  } else {
    copy_part(uniform_items<std::int64_t>(num_samples, seed, epoch), first, part);
  }
}

}  // namespace dts
