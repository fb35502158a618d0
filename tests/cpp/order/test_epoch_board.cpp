// SPDX-License-Identifier: Apache-2.0
#include "order/epoch_board.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.h"

namespace {

using Board = std::vector<std::int64_t>;

Board new_board() { return Board(dts::kEpochBoardWords, 0); }

std::int64_t claim(Board& board, std::int64_t instance, std::int64_t iteration,
                   std::int64_t worker) {
  return dts::claim_epoch(board, instance, iteration, worker, 7).epoch;
}

}  // namespace

TEST_CASE("the workers of an iteration get one epoch, in any order of arrival") {
  Board board = new_board();
  for (const std::int64_t worker : {3, 0, 2, 1}) CHECK(claim(board, 100, 0, worker) == 0);
  for (const std::int64_t worker : {1, 2, 0, 3}) CHECK(claim(board, 100, 1, worker) == 1);
  for (const std::int64_t worker : {0, 1}) CHECK(claim(board, 200, 0, worker) == 2);
}

TEST_CASE("workers that run ahead or lag behind keep each iteration's epoch") {
  Board board = new_board();
  for (std::int64_t iteration = 0; iteration < 40; ++iteration) {
    CHECK(claim(board, 5, iteration, 0) == iteration);
  }
  for (std::int64_t iteration = 0; iteration < 40; ++iteration) {
    CHECK(claim(board, 5, iteration, 1) == iteration);
  }
}

TEST_CASE("a worker that is in the iteration already starts a new one, the others follow") {
  Board board = new_board();
  // Three loaders of one seed give their iterators one number.
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::int64_t worker = 0; worker < 4; ++worker) {
      CHECK(claim(board, 9, 0, worker) == epoch);
    }
  }
  // A late one belongs to the earliest iteration it has not joined.
  CHECK(claim(board, 9, 0, 77) == 0);
  CHECK(claim(board, 9, 0, 77) == 1);
  CHECK(claim(board, 9, 0, 77) == 2);
  CHECK(claim(board, 9, 0, 77) == 3);
}

TEST_CASE("without workers every claim opens an epoch") {
  Board board = new_board();
  CHECK(claim(board, -1, 0, 0) == 0);
  CHECK(claim(board, -1, 0, -1) == 1);
  CHECK(claim(board, 3, 0, 0) == 2);
  CHECK(claim(board, -1, 0, 0) == 3);
  CHECK(claim(board, 3, 0, 1) == 2);
}

TEST_CASE("set_next_epoch counts for the next iteration and on, not for one under way") {
  Board board = new_board();
  CHECK(claim(board, 1, 0, 0) == 0);
  dts::set_next_epoch(board, 50);
  CHECK(claim(board, 1, 0, 1) == 0);
  CHECK(claim(board, 1, 1, 0) == 50);
  CHECK(claim(board, 1, 1, 1) == 50);
  CHECK(claim(board, 1, 2, 1) == 51);
  dts::set_next_epoch(board, 3);
  CHECK(claim(board, -1, 0, 0) == 3);
  CHECK(claim(board, 1, 3, 0) == 4);
}

TEST_CASE("the first seed stays") {
  Board board = new_board();
  dts::set_next_epoch(board, 2);
  CHECK(dts::claim_epoch(board, 1, 0, 0, -12).seed == -12);
  CHECK(dts::claim_epoch(board, 1, 0, 1, 13).seed == -12);
  CHECK(dts::claim_epoch(board, -1, 0, 0, 14).seed == -12);
}

TEST_CASE("many workers and the largest numbers") {
  Board board = new_board();
  constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
  for (std::int64_t worker = 0; worker < 832; ++worker) CHECK(claim(board, 0, 0, worker) == 0);
  CHECK(claim(board, kLargest, kLargest, 0) == 1);
  CHECK(claim(board, kLargest, kLargest, 1) == 1);
  CHECK(claim(board, kLargest, 0, 0) == 2);
  CHECK(claim(board, 0, 0, 831) == 3);
}

TEST_CASE("iterations forgotten after 48 newer ones start anew, and nothing else is lost") {
  Board board = new_board();
  for (std::int64_t instance = 0; instance < 49; ++instance) {
    CHECK(claim(board, instance, 0, 0) == instance);
  }
  for (std::int64_t instance = 1; instance < 49; ++instance) {
    CHECK(claim(board, instance, 0, 1) == instance);
  }
  CHECK(claim(board, 0, 0, 1) == 49);
}

TEST_CASE("threads that claim at once agree") {
  constexpr int kThreads = 4;
  constexpr std::int64_t kIterations = 200;
  Board board = new_board();
  std::vector<std::vector<std::int64_t>> epochs(kThreads);
  std::atomic<int> num_started = 0;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kThreads; ++worker) {
    threads.emplace_back([&, worker] {
      ++num_started;
      while (num_started < kThreads) std::this_thread::yield();
      for (std::int64_t iteration = 0; iteration < kIterations; ++iteration) {
        // No worker may be more than the ring's rows ahead: a loader's never are.
        epochs[static_cast<std::size_t>(worker)].push_back(claim(board, 1, iteration % 8, worker));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<std::int64_t, int> counts;
  for (const auto& list : epochs) {
    for (const std::int64_t epoch : list) ++counts[epoch];
  }
  // Each claim joined some iteration of its number, never one twice.
  for (const auto& list : epochs) {
    std::vector<std::int64_t> sorted = list;
    std::ranges::sort(sorted);
    CHECK(std::ranges::adjacent_find(sorted) == sorted.end());
  }
  CHECK(counts.begin()->first == 0);
  CHECK(counts.rbegin()->first == static_cast<std::int64_t>(counts.size()) - 1);
}

TEST_CASE("threads open distinct epochs where each claim opens one") {
  Board board = new_board();
  std::vector<std::vector<std::int64_t>> epochs(3);
  std::vector<std::thread> threads;
  for (auto& list : epochs) {
    threads.emplace_back([&board, &list] {
      for (int i = 0; i < 300; ++i) list.push_back(claim(board, -1, 0, 0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::int64_t> all;
  for (const auto& list : epochs) {
    CHECK(std::ranges::is_sorted(list));
    all.insert(all.end(), list.begin(), list.end());
  }
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size(); ++i) CHECK(all[i] == static_cast<std::int64_t>(i));
}

TEST_CASE("a lock whose holder died is taken over, once for all") {
  Board board = new_board();
  board[0] = 41;  // odd: held
  CHECK(claim(board, 1, 0, 0) == 0);
  CHECK(board[0] == 44);
  CHECK(claim(board, 1, 0, 1) == 0);
  CHECK(board[0] == 46);
}

TEST_CASE("boards and workers that can't be are refused") {
  Board small(100, 0);
  CHECK_THROWS_WITH_AS(dts::set_next_epoch(small, 1), "epoch board of 100 words, expected 1024",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(claim(small, 1, 0, 0), "epoch board of 100 words, expected 1024",
                       dts::InvalidArgument);
  Board board = new_board();
  CHECK_THROWS_WITH_AS(claim(board, 1, 0, -1), "worker is -1, expected >= 0", dts::InvalidArgument);
  CHECK(claim(board, 1, 0, 0) == 0);
}
