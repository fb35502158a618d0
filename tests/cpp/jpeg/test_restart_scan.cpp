// SPDX-License-Identifier: Apache-2.0
#include "jpeg/restart_scan.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "jpeg/encoder.h"

namespace {

using dts::find_restarts;
using dts::find_scan_end;
using dts::ScanEnd;
using dts::SimdLevel;
using dts::testing::Bytes;

std::vector<SimdLevel> levels() {
  std::vector<SimdLevel> list;
  for (const SimdLevel level : {SimdLevel::kGeneric, SimdLevel::kAvx2}) {
    if (level <= dts::best_simd_level()) list.push_back(level);
  }
  return list;
}

Bytes bytes_of(std::size_t lead, const std::vector<int>& tail) {
  Bytes data(lead, std::byte{0x5A});
  for (const int value : tail) data.push_back(static_cast<std::byte>(value));
  data.shrink_to_fit();
  return data;
}

// `tail` behind `lead` bytes of coded data, in memory of exactly that size.
ScanEnd end_of(std::size_t lead, const std::vector<int>& tail) {
  const Bytes data = bytes_of(lead, tail);
  const ScanEnd end = find_scan_end(data);
  for (const SimdLevel level : levels()) REQUIRE(find_scan_end(data, level) == end);
  return end;
}

// The markers' offsets and that of EOI behind them; empty when they are not as they should be.
using Found = std::optional<std::vector<std::size_t>>;

Found restarts_of(const Bytes& data, std::size_t expected) {
  std::vector<Found> found;
  for (const SimdLevel level : levels()) {
    std::vector<std::uint32_t> offsets(expected, 0);
    offsets.shrink_to_fit();
    const auto end = find_restarts(data, offsets, level);
    found.emplace_back();
    if (!end) continue;
    found.back().emplace(offsets.begin(), offsets.end());
    found.back()->push_back(*end);
  }
  for (const Found& other : found) REQUIRE(other == found[0]);
  return found[0];
}

}  // namespace

TEST_CASE("the first marker that is no part of coded data, wherever it lies") {
  const std::vector<std::pair<std::vector<int>, ScanEnd>> cases = {
      {{}, ScanEnd::kNone},
      {{0xFF}, ScanEnd::kNone},
      {{0xFF, 0xFF}, ScanEnd::kNone},
      {{0xFF, 0x00}, ScanEnd::kNone},
      {{0xFF, 0xFF, 0x00, 0xD9}, ScanEnd::kNone},
      {{0xFF, 0xD9}, ScanEnd::kEoi},
      {{0xFF, 0xFF, 0xFF, 0xD9}, ScanEnd::kEoi},
      {{0xFF, 0xD9, 0xFF, 0xDA}, ScanEnd::kEoi},
      {{0xFF, 0xD0, 0x11, 0xFF, 0xD7, 0xFF, 0x00, 0xFF, 0xD9}, ScanEnd::kEoi},
      {{0xFF, 0x00, 0xFF, 0xFF, 0xDA, 0xFF, 0xD9}, ScanEnd::kMarker},
      {{0xFF, 0xD8, 0xFF, 0xD9}, ScanEnd::kMarker},
      {{0xFF, 0x01, 0xFF, 0xD9}, ScanEnd::kMarker},
      {{0xFF, 0xC4, 0xFF, 0xD9}, ScanEnd::kMarker},
      {{0xFF, 0xFE}, ScanEnd::kMarker},
      {{0xD9, 0xFF, 0xCF}, ScanEnd::kMarker}};
  for (const auto& [tail, expected] : cases) {
    CAPTURE(tail.size());
    for (std::size_t lead = 0; lead < 200; ++lead) {
      CAPTURE(lead);
      REQUIRE(end_of(lead, tail) == expected);
      // Behind more data, too.
      std::vector<int> longer = tail;
      if (expected != ScanEnd::kNone) {
        longer.insert(longer.end(), 150, 0x33);
        REQUIRE(end_of(lead, longer) == expected);
      }
    }
  }
}

TEST_CASE("restart markers are found where they are, or not at all when one is amiss") {
  const std::vector<int> good = {1,    0xFF, 0xD0, 2,    0xFF, 0x00, 3,    0xFF, 0xFF,
                                 0xFF, 0xD1, 0xFF, 0xFF, 0xD2, 0xFF, 0xD9, 0xFF, 0xD3};
  const auto changed = [&good](std::size_t at, int value) {
    std::vector<int> values = good;
    values[at] = value;
    return values;
  };
  for (std::size_t lead = 0; lead < 150; ++lead) {
    CAPTURE(lead);
    const Found expected = std::vector<std::size_t>{lead + 1, lead + 9, lead + 12, lead + 14};
    REQUIRE(restarts_of(bytes_of(lead, good), 3) == expected);
    for (const std::size_t other : {0u, 1u, 2u, 4u, 5u}) {
      REQUIRE_FALSE(restarts_of(bytes_of(lead, good), other));
    }
    REQUIRE_FALSE(restarts_of(bytes_of(lead, changed(2, 0xD1)), 3));  // out of turn
    REQUIRE_FALSE(restarts_of(bytes_of(lead, changed(10, 0xD0)), 3));
    REQUIRE_FALSE(restarts_of(bytes_of(lead, changed(5, 0xDC)), 3));   // DNL
    REQUIRE_FALSE(restarts_of(bytes_of(lead, changed(15, 0xD3)), 3));  // no EOI
    REQUIRE_FALSE(restarts_of(bytes_of(lead, changed(15, 0x00)), 3));
    REQUIRE_FALSE(restarts_of(bytes_of(lead, {good.begin(), good.begin() + 15}), 3));
  }
  CHECK(restarts_of(bytes_of(0, {0xFF, 0xD9}), 0) == std::vector<std::size_t>{0});
  CHECK_FALSE(restarts_of({}, 0));
  CHECK_FALSE(restarts_of({}, 1));
}
