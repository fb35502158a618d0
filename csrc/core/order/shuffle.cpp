// SPDX-License-Identifier: Apache-2.0
#include "order/shuffle.h"

#include <algorithm>
#include <array>
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
template <class Partner>
void swap_down(std::span<std::int64_t> items, Partner partner) {
  std::array<std::uint64_t, 64> partners;
  std::uint64_t i = items.size();
  while (i > 1) {
    const std::uint64_t count = std::min<std::uint64_t>(partners.size(), i - 1);
    for (std::uint64_t k = 0; k < count; ++k) partners[k] = partner(i - 1 - k);
    for (std::uint64_t k = 0; k < count; ++k) std::swap(items[i - 1 - k], items[partners[k]]);
    i -= count;
  }
}

std::vector<std::int64_t> identity(std::int64_t count, const char* what) {
  if (count < 0) {
    throw InvalidArgument(std::string(what) + " is " + std::to_string(count) + ", expected >= 0");
  }
  std::vector<std::int64_t> items(static_cast<std::size_t>(count));
  std::iota(items.begin(), items.end(), std::int64_t{0});
  return items;
}

}  // namespace

void fisher_yates(std::span<std::int64_t> items, std::uint64_t seed, std::uint32_t x) {
  swap_down(items, [seed, x](std::uint64_t i) {
    return philox4x32(seed, {low_word(i), high_word(i), x, 0})[0] % (i + 1);
  });
}

std::vector<std::int64_t> block_order(std::int64_t num_blocks, std::uint64_t seed,
                                      std::uint64_t epoch) {
  std::vector<std::int64_t> order = identity(num_blocks, "num_blocks");
  fisher_yates(order, seed ^ (epoch << 32));
  return order;
}

std::vector<std::int64_t> uniform_order(std::int64_t num_samples, std::uint64_t seed,
                                        std::uint64_t epoch) {
  std::vector<std::int64_t> order = identity(num_samples, "num_samples");
  const std::uint64_t key = seed ^ (epoch << 32);
  swap_down(order, [key](std::uint64_t i) {
    const Philox4 r = philox4x32(key, {low_word(i), kUniformMark | high_word(i), 0, 0});
    // 64 random bits: with 32 the bias of the remainder shows from some 2^28 samples on.
    return (r[0] | static_cast<std::uint64_t>(r[1]) << 32) % (i + 1);
  });
  return order;
}

}  // namespace dts
