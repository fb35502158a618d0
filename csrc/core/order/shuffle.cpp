// SPDX-License-Identifier: Apache-2.0
#include "order/shuffle.h"

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
  for (std::uint64_t i = items.size(); i-- > 1;) {
    const Philox4 r = philox4x32(seed, {low_word(i), high_word(i), x, 0});
    std::swap(items[i], items[r[0] % (i + 1)]);
  }
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
  for (std::uint64_t i = order.size(); i-- > 1;) {
    const Philox4 r = philox4x32(key, {low_word(i), kUniformMark | high_word(i), 0, 0});
    // 64 random bits: with 32 the bias of the remainder shows from some 2^28 samples on.
    const std::uint64_t wide = r[0] | static_cast<std::uint64_t>(r[1]) << 32;
    std::swap(order[i], order[wide % (i + 1)]);
  }
  return order;
}

}  // namespace dts
