// SPDX-License-Identifier: Apache-2.0
// What every loop that takes stuffed zeros out must do, checked byte by byte.
#pragma once

#include <doctest/doctest.h>

#include <optional>

#include "jpeg/encoder.h"
#include "jpeg/unstuff_kernels.h"

namespace dts::testing {

using UnstuffLoop = bool (*)(Unstuffing&, const std::uint8_t*);

// Empty where a marker stands.
inline std::optional<std::vector<std::uint8_t>> unstuffed(const std::vector<std::uint8_t>& data) {
  std::vector<std::uint8_t> result;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] != 0xFF) {
      result.push_back(data[i]);
    } else if (i + 1 < data.size() && data[i + 1] == 0) {
      result.push_back(0xFF);
      ++i;
    } else {
      for (; i < data.size(); ++i) {
        if (data[i] != 0xFF) return std::nullopt;
      }
    }
  }
  return result;
}

inline void check_unstuffing(UnstuffLoop loop) {
  std::uint64_t state = 21;
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    std::vector<std::uint8_t> data(next_random(state, 200));
    const unsigned rarity = 2 + next_random(state, 60);
    for (std::size_t i = 0; i < data.size(); ++i) {
      data[i] = static_cast<std::uint8_t>(next_random(state, 255));
      if (next_random(state, rarity) == 0) {
        data[i] = 0xFF;
        if (++i < data.size() && next_random(state, 50) != 0) data[i] = 0;
      }
    }
    for (unsigned k = next_random(state, 4) == 0 ? 3 : 0; k > 0; --k) data.push_back(0xFF);
    data.shrink_to_fit();
    const auto expected = unstuffed(data);
    std::vector<std::uint8_t> result(data.size() + kUnstuffRoom);
    Unstuffing work = {data.data(), data.data() + data.size(), result.data()};
    bool is_fine = true;
    while (is_fine && work.source < work.end) {
      const auto left = static_cast<unsigned>(work.end - work.source);
      const std::uint8_t* const stop = work.source + 1 + next_random(state, left);
      is_fine = loop(work, stop);
      if (is_fine) REQUIRE((work.source == work.end || work.source - stop <= 1));
      if (is_fine) REQUIRE(work.source >= stop);
    }
    REQUIRE(is_fine == expected.has_value());
    if (!is_fine) continue;
    result.resize(static_cast<std::size_t>(work.target - result.data()));
    REQUIRE(result == *expected);
  }
}

}  // namespace dts::testing
