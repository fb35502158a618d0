// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <new>

#include "base/large_memory.h"
#include "support.h"

namespace dts {
namespace {

TEST_CASE("large memory: pieces of all sizes, whole and apart") {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  const std::vector<std::size_t> sizes = {
      0, 1, 4096, 4 * kMiB - 1, 4 * kMiB, 4 * kMiB + 1, 7 * kMiB, 6 * kMiB + 12345, 64 * kMiB + 1};
  std::vector<LargeMemory> pieces;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    pieces.push_back(make_large(sizes[i]));
    REQUIRE(pieces[i] != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(pieces[i].get()) % kLargeAlignment == 0);
    CHECK(pieces[i].get_deleter().bytes == sizes[i]);
    std::fill_n(pieces[i].get(), sizes[i], static_cast<std::byte>(i));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::byte* const data = pieces[i].get();
    CHECK(std::all_of(data, data + sizes[i], [&](std::byte b) { return b == std::byte(i); }));
  }
  pieces[7] = std::move(pieces[8]);
  CHECK(pieces[7].get()[64 * kMiB] == std::byte{8});
  CHECK(pieces[8] == nullptr);
}

TEST_CASE("large memory: what no memory holds is bad_alloc") {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  for (const std::size_t bytes : {kMost / 2, kMost / 2 + 1}) {
    CHECK_THROWS_AS(static_cast<void>(make_large(bytes)), std::bad_alloc);
  }
}

}  // namespace
}  // namespace dts
