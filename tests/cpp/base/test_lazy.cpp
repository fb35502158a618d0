// SPDX-License-Identifier: Apache-2.0
#include "base/lazy.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

namespace dts {
namespace {

TEST_CASE("Lazy: built once, by one of many threads") {
  Lazy<std::vector<int>> lazy;
  std::atomic<int> num_builds{0};
  std::atomic<int> num_right{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const auto& value = lazy.get([&] {
          ++num_builds;
          return std::vector<int>{1, 2, 3};
        });
        if (value == std::vector<int>{1, 2, 3}) ++num_right;
      });
    }
  }
  CHECK(num_builds == 1);
  CHECK(num_right == 8);
}

TEST_CASE("Lazy: an error leaves it unbuilt and comes again") {
  Lazy<int> lazy;
  const auto broken = []() -> int { throw std::runtime_error("broken"); };
  CHECK_THROWS_WITH_AS(lazy.get(broken), "broken", std::runtime_error);
  CHECK_THROWS_WITH_AS(lazy.get(broken), "broken", std::runtime_error);
  CHECK(lazy.get([] { return 7; }) == 7);
  CHECK(lazy.get(broken) == 7);
}

}  // namespace
}  // namespace dts
