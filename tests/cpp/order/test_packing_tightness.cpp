// SPDX-License-Identifier: Apache-2.0
// How little room pack_samples leaves on sets like ImageNet.
#include <algorithm>
#include <numeric>

#include "order/packing.h"
#include "order/packing_sets.h"

namespace {

using dts::Packing;
using dts::testing::check_packing;
using dts::testing::kIsSanitized;
using dts::testing::log_normal_sizes;
using dts::testing::num_blocks;
using dts::testing::Sizes;

constexpr std::uint64_t kBlock = 16u << 20;

}  // namespace

TEST_CASE("a set of ImageNet's size leaves next to no room") {
  const Sizes sizes = log_normal_sizes(kIsSanitized ? 128117 : 1281167, 1);
  const Packing packing = dts::pack_samples(sizes, {});
  check_packing(sizes, packing, kBlock);
  CHECK(packing.block_header_size == 4096);
  CHECK(num_blocks(packing) == dts::packing_bound(sizes, kBlock, 4096));

  double true_bytes = 0;
  double padded_bytes = 0;
  for (const std::int64_t size : sizes) {
    true_bytes += static_cast<double>(size);
    padded_bytes += static_cast<double>(dts::testing::padded(size));
  }
  const double block_bytes = static_cast<double>(num_blocks(packing)) * kBlock;
  const double room =
      block_bytes - 4096.0 * static_cast<double>(num_blocks(packing)) - padded_bytes;
  if (!kIsSanitized) {  // the last block's room counts for ten times as much in the smaller set
    CHECK(room <= 0.0008 * block_bytes);
    CHECK(block_bytes + kBlock <= 1.0013 * true_bytes);
  }
  CHECK(room < kBlock);

  // All blocks but the last are full to a few bytes, and most to the last one.
  std::size_t stored = 0;
  std::int64_t num_full = 0;
  std::int64_t largest_room = 0;
  for (std::int64_t block = 0; block + 1 < num_blocks(packing); ++block) {
    std::int64_t left = (16 << 20) - 4096;
    for (std::int64_t k = 0; k < packing.block_counts[static_cast<std::size_t>(block)]; ++k) {
      left -= dts::testing::padded(sizes[static_cast<std::size_t>(packing.order[stored++])]);
    }
    num_full += left == 0;
    largest_room = std::max(largest_room, left);
  }
  CHECK(num_full * 10 > num_blocks(packing) * 9);
  CHECK(largest_room <= 1024);
}

TEST_CASE("sets of 1 to 30 000 photos take at most one block more than the bound") {
  const auto check = [](std::size_t count, std::uint64_t seed) {
    CAPTURE(count);
    CAPTURE(seed);
    const Sizes sizes = log_normal_sizes(count, seed);
    const Packing packing = dts::pack_samples(sizes, {.seed = seed});
    check_packing(sizes, packing, kBlock);
    CHECK(packing.block_header_size == 4096);
    CHECK(num_blocks(packing) <= dts::packing_bound(sizes, kBlock, 4096) + 1);
  };
  for (std::size_t count = 1; count < 500; count += kIsSanitized ? 37 : 7) check(count, count);
  for (const std::size_t count : {1000u, 4567u, 10000u, 30000u}) {
    for (std::uint64_t seed = 0; seed < (kIsSanitized ? 1 : 3); ++seed) check(count, seed);
  }
}

TEST_CASE("sets whose sum comes close to a multiple of the capacity") {
  constexpr std::int64_t kCapacity = (16 << 20) - 4096;
  Sizes sizes = log_normal_sizes(3000, 8);
  for (std::int64_t& size : sizes) size = dts::testing::padded(size);
  const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  for (const std::int64_t slack : {0, 64, 640, 64000}) {
    CAPTURE(slack);
    Sizes filled = sizes;
    std::int64_t missing = kCapacity - sum % kCapacity - slack;
    if (missing < 0) missing += kCapacity;
    for (; missing > 0; missing -= 128000)
      filled.push_back(std::min<std::int64_t>(missing, 128000));
    const Packing packing = dts::pack_samples(filled, {});
    check_packing(filled, packing, kBlock);
    CHECK(num_blocks(packing) <= dts::packing_bound(filled, kBlock, 4096) + 1);
  }
}

TEST_CASE("few samples a block still fill it well") {
  const Sizes sizes = log_normal_sizes(3000, 4, 1500000.0);
  const Packing packing = dts::pack_samples(sizes, {.block_size = 4 * kBlock});
  check_packing(sizes, packing, 4 * kBlock);
  CHECK(num_blocks(packing) <= dts::packing_bound(sizes, 4 * kBlock, 4096) + 1);
}
