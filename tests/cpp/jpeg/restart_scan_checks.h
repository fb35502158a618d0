// SPDX-License-Identifier: Apache-2.0
// What every loop that looks for markers must find, checked byte by byte.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <vector>

#include "jpeg/encoder.h"
#include "jpeg/restart_scan_kernels.h"

namespace dts::testing {

using SearchLoop = void (*)(MarkerSearch&);

// The FF of the first marker from `at` on, the data's size without one.
inline std::size_t next_marker(const Bytes& data, std::size_t at) {
  for (; at + 1 < data.size(); ++at) {
    const int code = std::to_integer<int>(data[at + 1]);
    if (data[at] == std::byte{0xFF} && code != 0 && code != 0xFF) return at;
  }
  return data.size();
}

inline MarkerSearch search_in(const Bytes& data, std::size_t begin) {
  MarkerSearch search;
  search.data = reinterpret_cast<const std::uint8_t*>(data.data());
  search.size = data.size();
  search.position = begin;
  return search;
}

// RSTn are passed over.
inline void check_passing(SearchLoop loop, const Bytes& data, std::size_t begin) {
  std::size_t expected = next_marker(data, begin);
  while (expected < data.size() && (std::to_integer<int>(data[expected + 1]) & 0xF8) == 0xD0) {
    expected = next_marker(data, expected + 2);
  }
  MarkerSearch search = search_in(data, begin);
  loop(search);
  REQUIRE(search.position == expected);
  REQUIRE(search.count == 0);
}

// RSTn are collected while they come in turn and there is room.
inline void check_collecting(SearchLoop loop, const Bytes& data, std::size_t begin,
                             std::size_t capacity) {
  std::vector<std::uint32_t> expected;
  std::size_t at = next_marker(data, begin);
  while (at < data.size() && expected.size() < capacity &&
         std::to_integer<int>(data[at + 1]) == 0xD0 + static_cast<int>(expected.size() % 8)) {
    expected.push_back(static_cast<std::uint32_t>(at));
    at = next_marker(data, at + 2);
  }
  std::vector<std::uint32_t> found(capacity + 1, 77);
  MarkerSearch search = search_in(data, begin);
  search.restarts = found.data();
  search.capacity = capacity;
  loop(search);
  REQUIRE(search.position == at);
  REQUIRE(search.count == expected.size());
  REQUIRE(found[capacity] == 77);
  found.resize(expected.size());
  REQUIRE(found == expected);
}

// Coded data full of FF with restart markers in turn, in memory of exactly its size.
inline Bytes coded_data(std::uint64_t& state, std::size_t num_restarts) {
  Bytes data;
  for (std::size_t i = 0; i <= num_restarts; ++i) {
    for (unsigned k = next_random(state, 40); k > 0; --k) {
      const bool is_stuffed = next_random(state, 6) == 0;
      data.push_back(static_cast<std::byte>(is_stuffed ? 0xFF : next_random(state, 0xFF)));
      if (is_stuffed) data.push_back(std::byte{0});
    }
    for (unsigned k = 1 + next_random(state, 3) / 2; k > 0; --k) data.push_back(std::byte{0xFF});
    data.push_back(static_cast<std::byte>(i == num_restarts ? 0xD9 : 0xD0 + i % 8));
  }
  data.shrink_to_fit();
  return data;
}

inline void check_search(SearchLoop loop) {
  std::uint64_t state = 17;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const std::size_t num_restarts = next_random(state, 20);
    Bytes data = coded_data(state, num_restarts);
    // Sometimes one byte is another.
    const auto size = static_cast<unsigned>(data.size());
    if (next_random(state, 2) == 0) {
      data[next_random(state, size)] = static_cast<std::byte>(0xFF - next_random(state, 64));
    }
    const std::size_t begin = next_random(state, 3) == 0 ? next_random(state, size) : 0;
    check_passing(loop, data, begin);
    check_collecting(loop, data, begin, num_restarts);
    check_collecting(loop, data, begin, next_random(state, 20));
  }
}

}  // namespace dts::testing
