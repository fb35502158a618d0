// SPDX-License-Identifier: Apache-2.0
#include "order/packing.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "order/packing_sets.h"
#include "order/shuffle.h"

namespace {

using dts::Packing;
using dts::PackingOptions;
using dts::testing::check_packing;
using dts::testing::log_normal_sizes;
using dts::testing::num_blocks;
using dts::testing::Sizes;
using dts::testing::uniform;

constexpr std::uint64_t kBlock = 16u << 20;
constexpr std::int64_t kCapacity = (16 << 20) - 4096;

std::int64_t bound_of(const Sizes& sizes, const Packing& packing, std::uint64_t block_size) {
  return dts::packing_bound(sizes, block_size, packing.block_header_size);
}

}  // namespace

TEST_CASE("small sets pack into what they need") {
  const std::vector<Sizes> sets = {{},
                                   {0},
                                   {1},
                                   {kCapacity},
                                   {kCapacity, kCapacity},
                                   {kCapacity, 1},
                                   {kCapacity - 64, 64},
                                   {kCapacity - 63, 64},
                                   {0, kCapacity, 0},
                                   Sizes(5, kCapacity / 2),
                                   Sizes(300, 0)};
  const std::vector<std::int64_t> expected = {0, 1, 1, 1, 2, 2, 1, 2, 1, 3, 1};
  for (std::size_t i = 0; i < sets.size(); ++i) {
    CAPTURE(i);
    for (const bool shuffled : {true, false}) {
      const Packing packing = dts::pack_samples(sets[i], {.shuffled = shuffled});
      check_packing(sets[i], packing, kBlock);
      CHECK(num_blocks(packing) == expected[i]);
      CHECK(packing.block_header_size == 4096);
    }
  }
}

TEST_CASE("a set of one block is shuffled by the seed, and only by it") {
  const Sizes sizes(100, 1000);
  Sizes expected(100);
  std::iota(expected.begin(), expected.end(), std::int64_t{0});
  dts::fisher_yates(expected, 42);
  CHECK(dts::pack_samples(sizes, {}).order == expected);
  CHECK(dts::pack_samples(sizes, {.seed = 43}).order != expected);
}

TEST_CASE("equal calls give equal packings, other seeds others") {
  const Sizes sizes = log_normal_sizes(3000, 1);
  const Packing one = dts::pack_samples(sizes, {});
  const Packing two = dts::pack_samples(sizes, {});
  CHECK(one.order == two.order);
  CHECK(one.block_counts == two.block_counts);
  CHECK(dts::pack_samples(sizes, {.seed = 1}).order != one.order);
}

TEST_CASE("the packing of a given set and seed stays what it was") {
  // A file converted today and one converted by a later version must be equal bytes.
  Sizes sizes;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    sizes.push_back(1000 + dts::below(dts::philox4x32(3, {i, 0, 0, 0})[0], 60000));
  }
  const Packing packing = dts::pack_samples(sizes, {.block_size = 1 << 20});
  std::uint64_t digest = 14695981039346656037u;  // FNV-1a over order, then counts
  const auto add = [&digest](const std::vector<std::int64_t>& values) {
    for (const std::int64_t value : values) {
      digest = (digest ^ static_cast<std::uint64_t>(value)) * 1099511628211u;
    }
  };
  add(packing.order);
  add(packing.block_counts);
  CHECK(digest == 14438747760009933143u);
}

TEST_CASE("unshuffled samples keep their order, next-fit") {
  const Packing packing =
      dts::pack_samples(Sizes{600, 400, 100, 0, 900, 1},
                        {.block_size = 1088, .block_header_size = 64, .shuffled = false});
  CHECK(packing.order == Sizes{0, 1, 2, 3, 4, 5});
  // 640 + 448 > 1024; 448 + 128 + 0; 960 + 64. The index room is 4.
  CHECK(packing.block_counts == Sizes{1, 3, 2});
}

TEST_CASE("the index room limits blocks of small samples") {
  const Sizes sizes(1000, 10);
  const Packing packing = dts::pack_samples(sizes, {.block_header_size = 4096});
  check_packing(sizes, packing, kBlock);
  CHECK(packing.block_counts == Sizes{340, 340, 320});
  CHECK(dts::packing_bound(sizes, kBlock, 4096) == 3);
}

TEST_CASE("the block header grows for small samples and stays for photos") {
  const Sizes small(20000, 2048);
  const Packing packing = dts::pack_samples(small, {});
  check_packing(small, packing, kBlock);
  CHECK(packing.block_header_size > 4096);
  CHECK(packing.block_header_size % 4096 == 0);
  const double file_bytes = static_cast<double>((packing.block_counts.size() + 1) * kBlock);
  CHECK(file_bytes <= 1.1 * 20000 * 2048 + 2.0 * kBlock);
  CHECK(num_blocks(packing) == 3);

  CHECK(dts::pack_samples(log_normal_sizes(20000, 1), {}).block_header_size == 4096);
  CHECK(dts::pack_samples(log_normal_sizes(5000, 1), {.min_block_header_size = 16384})
            .block_header_size == 16384);
  CHECK(dts::pack_samples({}, {.min_block_header_size = 8192}).block_header_size == 8192);
}

TEST_CASE("the block header never takes the room of the largest sample") {
  Sizes sizes(3000, 100);
  sizes.push_back(kCapacity);
  const Packing packing = dts::pack_samples(sizes, {});
  check_packing(sizes, packing, kBlock);
  CHECK(packing.block_header_size == 4096);
  CHECK(num_blocks(packing) <= 2 * bound_of(sizes, packing, kBlock) + 1);
}

TEST_CASE("hundreds of thousands of samples without bytes pack") {
  const Sizes sizes(200000, 0);
  const Packing packing = dts::pack_samples(sizes, {});
  check_packing(sizes, packing, kBlock);
  CHECK(num_blocks(packing) == 1);
}

TEST_CASE("any set packs into at most twice its bound and one block") {
  constexpr int kNumKinds = 9;
  for (int number = 0; number < (dts::testing::kIsSanitized ? 45 : 180); ++number) {
    const int kind = number % kNumKinds;
    const auto seed = static_cast<std::uint64_t>(number);
    const PackingOptions options = {.block_size = static_cast<std::uint64_t>(65536) << (number % 4),
                                    .block_header_size = number % 3 == 0 ? 2048u : 0u,
                                    .shuffled = number % 5 != 0,
                                    .seed = seed};
    const std::int64_t capacity = static_cast<std::int64_t>(options.block_size) - 4096;
    const double cap = static_cast<double>(capacity);
    Sizes sizes(static_cast<std::size_t>(uniform(99, seed) * 1500));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const double u = uniform(seed, i);
      double size = 0;
      if (kind == 0) size = u * cap;                            // anything
      if (kind == 1) size = cap * 0.4;                          // all equal
      if (kind == 2) size = u < 0.1 ? cap : u * 64;             // huge and tiny
      if (kind == 3) size = cap * (0.5001 + u * 0.49);          // no two fit
      if (kind == 4) size = u < 0.5 ? cap * 0.34 : cap * 0.51;  // two kinds
      if (kind == 5) size = std::exp(u * std::log(cap));        // every magnitude
      if (kind == 6) size = u * 200;                            // tiny
      if (kind == 7) size = cap / (1 + std::floor(u * 12));     // simple fractions
      if (kind == 8) size = i == 0 ? cap : cap * 0.01 * u;      // one giant
      sizes[i] = static_cast<std::int64_t>(size);
    }
    CAPTURE(number);
    const Packing packing = dts::pack_samples(sizes, options);
    check_packing(sizes, packing, options.block_size);
    const std::int64_t bound = bound_of(sizes, packing, options.block_size);
    CHECK(num_blocks(packing) >= bound);
    CHECK(num_blocks(packing) <= 2 * bound + 1);
  }
}

TEST_CASE("a sample that no block holds is named") {
  const std::string message =
      "sample 2 has 16773121 bytes, but a block of block_size 16777216 holds at most 16773120; "
      "choose a larger block_size";
  const Sizes sizes = {1, kCapacity, kCapacity + 1, kCapacity + 2};
  CHECK_THROWS_WITH_AS(dts::pack_samples(sizes, {}), message.c_str(), dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::packing_bound(sizes, kBlock, 4096), message.c_str(),
                       dts::InvalidArgument);
  CHECK(num_blocks(dts::pack_samples(sizes, {.block_size = 2 * kBlock})) == 2);
  CHECK_THROWS_WITH_AS(dts::pack_samples(Sizes{3, -1}, {}), "sample 1 has -1 bytes, expected >= 0",
                       dts::InvalidArgument);
}

TEST_CASE("options that don't fit are refused") {
  const Sizes sizes = {1};
  for (const std::uint64_t block_size :
       {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 33}) {
    const std::string message =
        "block_size is " + std::to_string(block_size) + ", expected a multiple of 64 up to 2^32";
    CHECK_THROWS_WITH_AS(dts::pack_samples(sizes, {.block_size = block_size}), message.c_str(),
                         dts::InvalidArgument);
    CHECK_THROWS_WITH_AS(dts::packing_bound(sizes, block_size, 64), message.c_str(),
                         dts::InvalidArgument);
  }
  CHECK_THROWS_WITH_AS(
      dts::pack_samples(sizes, {.block_header_size = 100}),
      "block_header_size is 100, expected a multiple of 64 below block_size 16777216",
      dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(
      dts::pack_samples(sizes, {.block_size = 4096}),
      "min_block_header_size is 4096, expected a multiple of 64 below block_size 4096",
      dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(
      dts::packing_bound(sizes, kBlock, 0),
      "block_header_size is 0, expected a multiple of 64 below block_size 16777216",
      dts::InvalidArgument);
}
