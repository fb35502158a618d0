// SPDX-License-Identifier: Apache-2.0
#include "order/epoch_board.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/error.h"

namespace dts {
namespace {

// Board: word 0 lock, 1 next epoch, 2 whether a seed is set, 3 seed, 4 number of rows
// ever opened; from word 16 a ring of rows, one an opened epoch:
// {instance + 1 (0: no row), iteration, epoch, 13 words of bits: workers that joined}.
constexpr std::size_t kLock = 0, kNextEpoch = 1, kSeedSet = 2, kSeed = 3, kNumOpened = 4;
constexpr std::size_t kFirstRow = 16, kRowWords = 16, kNumRows = 48;
constexpr std::size_t kKey = 0, kIteration = 1, kEpoch = 2, kJoined = 3;
constexpr std::uint64_t kNumWorkerBits = 64 * (kRowWords - kJoined);
static_assert(kFirstRow + kRowWords * kNumRows <= kEpochBoardWords);

// The holder keeps the lock for less than a microsecond; one that has not moved for
// this long was killed.
constexpr std::chrono::seconds kDeadAfter{2};

// The lock word counts: even = free, odd = held. A taken-over lock gets the next odd
// number, so that the former holder, were it alive after all, can't free it.
class BoardLock {
 public:
  explicit BoardLock(std::int64_t& word) : word_(word) {
    using Clock = std::chrono::steady_clock;
    std::int64_t seen = word_.load(std::memory_order_relaxed);
    Clock::time_point seen_since = Clock::now();
    for (int round = 0;; ++round) {
      const bool is_free = seen % 2 == 0;
      if (is_free || Clock::now() - seen_since > kDeadAfter) {
        std::int64_t expected = seen;
        held_ = seen + (is_free ? 1 : 2);
        if (word_.compare_exchange_strong(expected, held_, std::memory_order_acquire)) return;
      }
      if (round < 64) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      const std::int64_t now = word_.load(std::memory_order_relaxed);
      if (now != seen) {
        seen = now;
        seen_since = Clock::now();
      }
    }
  }
  ~BoardLock() {
    std::int64_t expected = held_;
    word_.compare_exchange_strong(expected, held_ + 1, std::memory_order_release,
                                  std::memory_order_relaxed);
  }
  BoardLock(const BoardLock&) = delete;
  BoardLock& operator=(const BoardLock&) = delete;

 private:
  static_assert(std::atomic_ref<std::int64_t>::is_always_lock_free, "it is shared by processes");
  std::atomic_ref<std::int64_t> word_;
  std::int64_t held_ = 0;
};

void check_board(std::span<std::int64_t> board) {
  if (board.size() < kEpochBoardWords) {
    throw InvalidArgument("epoch board of " + std::to_string(board.size()) + " words, expected " +
                          std::to_string(kEpochBoardWords));
  }
}

// Key of a row; wraps instead of overflowing, and is 0 for no instance >= 0.
std::int64_t key_of(std::int64_t instance) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(instance) + 1);
}

std::span<std::int64_t> row_at(std::span<std::int64_t> board, std::uint64_t opened) {
  return board.subspan(kFirstRow + kRowWords * (opened % kNumRows), kRowWords);
}

std::int64_t open_epoch(std::span<std::int64_t> board) { return board[kNextEpoch]++; }

// A process may be killed between any two of these stores. Then an epoch's number is
// left out, no more: a row counts only from its key on, so that is written last.
std::span<std::int64_t> open_row(std::span<std::int64_t> board, std::int64_t key,
                                 std::int64_t iteration) {
  const auto opened = static_cast<std::uint64_t>(board[kNumOpened]++);
  const std::span<std::int64_t> row = row_at(board, opened);
  std::ranges::fill(row, 0);
  row[kIteration] = iteration;
  row[kEpoch] = open_epoch(board);
  std::atomic_signal_fence(std::memory_order_release);
  row[kKey] = key;
  return row;
}

// Sets the worker's bit; false when it was set.
bool join_row(std::span<std::int64_t> row, std::int64_t worker) {
  const std::uint64_t bit = static_cast<std::uint64_t>(worker) % kNumWorkerBits;
  std::int64_t& word = row[kJoined + bit / 64];
  const auto mask = static_cast<std::int64_t>(std::uint64_t{1} << (bit % 64));
  if ((word & mask) != 0) return false;
  word |= mask;
  return true;
}

}  // namespace

EpochClaim claim_epoch(std::span<std::int64_t> board, std::int64_t instance, std::int64_t iteration,
                       std::int64_t worker, std::int64_t seed) {
  check_board(board);
  if (instance >= 0 && worker < 0) {
    throw InvalidArgument("worker is " + std::to_string(worker) + ", expected >= 0");
  }
  const BoardLock lock(board[kLock]);
  if (board[kSeedSet] == 0) {
    board[kSeed] = seed;
    board[kSeedSet] = 1;
  }
  if (instance < 0) return {open_epoch(board), board[kSeed]};

  const std::int64_t key = key_of(instance);
  const auto opened = static_cast<std::uint64_t>(board[kNumOpened]);
  // Oldest first: a worker that is late in a repeated iteration belongs to the earlier one.
  for (std::uint64_t age = std::min<std::uint64_t>(opened, kNumRows); age > 0; --age) {
    const std::span<std::int64_t> row = row_at(board, opened - age);
    if (row[kKey] != key || row[kIteration] != iteration) continue;
    if (join_row(row, worker)) return {row[kEpoch], board[kSeed]};
  }
  const std::span<std::int64_t> row = open_row(board, key, iteration);
  join_row(row, worker);
  return {row[kEpoch], board[kSeed]};
}

void set_next_epoch(std::span<std::int64_t> board, std::int64_t epoch) {
  check_board(board);
  const BoardLock lock(board[kLock]);
  board[kNextEpoch] = epoch;
}

}  // namespace dts
