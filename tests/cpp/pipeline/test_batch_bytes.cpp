// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch_bytes.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/counted_allocations.h"
#include "support.h"

using namespace dts::testing;

namespace {

// Pieces of so many bytes, each full of its number.
std::vector<dts::ByteSpan> fill(dts::BatchBytes& bytes, const std::vector<std::size_t>& sizes) {
  std::vector<dts::ByteSpan> pieces;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    pieces.push_back(bytes.allocate(sizes[i]));
    std::ranges::fill(pieces.back(), static_cast<std::byte>(i));
  }
  return pieces;
}

bool is_whole(const std::vector<dts::ByteSpan>& pieces, const std::vector<std::size_t>& sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto all = static_cast<std::byte>(i);
    if (pieces[i].size() != sizes[i] || pieces[i].data() == nullptr ||
        reinterpret_cast<std::uintptr_t>(pieces[i].data()) % 64 != 0 ||
        !std::ranges::all_of(pieces[i], [&](std::byte b) { return b == all; })) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("pieces of any size lie apart, aligned, before and after their memory is known") {
  dts::BatchBytes bytes;
  const std::vector<std::vector<std::size_t>> batches = {{0, 1, 63, 64, 65, 5000, 0, 3},
                                                         {70000, 2, 3'000'000},
                                                         {9},
                                                         {0},
                                                         {70000, 2, 3'000'000, 80000}};
  for (const auto& sizes : batches) {
    CHECK(is_whole(fill(bytes, sizes), sizes));
    bytes.clear();
  }
}

TEST_CASE("batches that differ little share one range and allocate nothing") {
  dts::BatchBytes bytes;
  fill(bytes, {100'000, 100'000});
  bytes.clear();
  const dts::ByteSpan first = bytes.allocate(100'000);
  const dts::ByteSpan second = bytes.allocate(110'000);
  CHECK(second.data() - first.data() == 100'032);
  const std::size_t held = bytes.held_bytes();
  CHECK(held >= 210'000);
  CHECK(held < 250'000);
  bytes.clear();
  const std::int64_t before = num_allocations();
  for (int i = 0; i < 5; ++i) {
    CHECK(bytes.allocate(90'000).data() == first.data());
    bytes.allocate(std::size_t{100'000} + static_cast<std::size_t>(i));
    bytes.clear();
  }
  CHECK(num_allocations() == before);
  CHECK(bytes.held_bytes() == held);
}

TEST_CASE("one batch of huge samples does not fix the memory") {
  dts::BatchBytes bytes;
  bytes.allocate(std::size_t{40} << 20);
  bytes.clear();
  CHECK(bytes.held_bytes() >= std::size_t{40} << 20);
  bytes.allocate(std::size_t{20} << 20);
  bytes.clear();
  CHECK(bytes.held_bytes() >= std::size_t{40} << 20);
  bytes.allocate(1000);
  bytes.clear();
  CHECK(bytes.held_bytes() < 10'000);
}

TEST_CASE("threads take pieces at once") {
  dts::BatchBytes bytes;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::vector<std::size_t>> sizes(4);
    std::vector<std::vector<dts::ByteSpan>> pieces(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      for (std::size_t i = 0; i < 200; ++i) sizes[t].push_back((i * 37 + t * 11) % 3000);
      threads.emplace_back([&, t] { pieces[t] = fill(bytes, sizes[t]); });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t t = 0; t < sizes.size(); ++t) CHECK(is_whole(pieces[t], sizes[t]));
    bytes.clear();
  }
}
