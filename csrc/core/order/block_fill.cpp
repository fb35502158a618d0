// SPDX-License-Identifier: Apache-2.0
#include "order/block_fill.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/philox.h"

namespace dts {
namespace {

// Samples behind a block that it may exchange with, as a multiple of its own and in
// numbers. A few hundred give thousands of differences near any wanted one; fewer keep
// the search short.
constexpr std::int64_t kWindowBlocks = 4;
constexpr std::int64_t kMinWindow = 128, kMaxWindow = 2048;
constexpr int kMaxExchanges = 8;                  // of one block
constexpr std::uint32_t kMaxPairsTried = 24;      // when no exchange of one sample is good enough
constexpr std::int64_t kRoomsPerBlock = 1 << 14;  // a room of capacity / this is small enough
// A block that is too full or too empty by more than this many mean samples, as a very
// large one in its share leaves it, is first brought nearer in list order: exchanges
// alone would fill it with the largest samples around.
constexpr std::int64_t kMeansExchanged = 2;
constexpr std::uint32_t kPairMark = 0x80000000u;

struct Candidate {
  std::int64_t size;
  std::size_t position;
};

// Which positions leave and enter a block, and the room that is left then.
struct Exchange {
  std::int64_t room = -1;  // negative: none found
  std::size_t num_out = 0;
  std::size_t num_in = 0;
  std::array<std::size_t, 2> out{};
  std::array<std::size_t, 2> in{};
};

class TightFill {
 public:
  TightFill(std::span<std::int64_t> order, std::span<std::int64_t> sizes, const BlockLimits& limits,
            std::uint64_t seed)
      : order_(order), sizes_(sizes), limits_(limits), seed_(seed), shares_(sizes.size() + 1, 0) {
    std::partial_sum(sizes.begin(), sizes.end(), shares_.begin() + 1);
    if (!sizes.empty()) {
      near_ = kMeansExchanged * (shares_.back() / static_cast<std::int64_t>(sizes.size()));
    }
  }

  std::vector<std::int64_t> run() {
    while (begin_ < sizes_.size()) {
      cut_share();
      const bool is_rest = end_ == sizes_.size() && room_ >= 0;
      const bool is_full_index = num_samples() == limits_.max_samples && room_ > largest_share();
      if (!is_rest && !is_full_index) fit();
      counts_.push_back(num_samples());
      filled_ += limits_.capacity - room_;
      begin_ = end_;
    }
    return std::move(counts_);
  }

 private:
  std::int64_t num_samples() const { return static_cast<std::int64_t>(end_ - begin_); }

  // A room that exchanges can't be asked to fill.
  std::int64_t largest_share() const {
    return *std::max_element(sizes_.begin() + static_cast<std::ptrdiff_t>(begin_),
                             sizes_.begin() + static_cast<std::ptrdiff_t>(end_));
  }

  // Sets end_ and room_ to the present block's share before any exchange.
  void cut_share() {
    const std::int64_t target = filled_ + limits_.capacity;
    const auto first = shares_.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto above = std::lower_bound(first, shares_.end(), target);
    end_ = static_cast<std::size_t>(above - shares_.begin());
    const bool has_nearer_below =
        above == shares_.end() || (above != first && target - *(above - 1) < *above - target);
    // The last share is never cut by nearness: what fits there needs no other block.
    const bool fits_all = shares_.back() - filled_ <= limits_.capacity;
    if (fits_all) {
      end_ = sizes_.size();
    } else if (has_nearer_below) {
      --end_;
    }
    const auto most = static_cast<std::uint64_t>(limits_.max_samples);
    end_ = std::clamp<std::size_t>(end_, begin_ + 1,
                                   std::min<std::uint64_t>(sizes_.size(), begin_ + most));
    room_ = limits_.capacity;
    for (std::size_t i = begin_; i < end_; ++i) room_ -= sizes_[i];
  }

  // Exchanges until the block fits and is full, as far as that can be done.
  void fit() {
    const std::int64_t good_enough = limits_.capacity / kRoomsPerBlock;
    come_near();
    for (int round = 0; round < kMaxExchanges; ++round) {
      if (room_ == 0) return;
      sort_window();
      Exchange best = best_single(round);
      if (best.room < 0 || best.room > good_enough) try_pairs(round, best);
      while (best.room < 0) {  // too much for any exchange: the last sample goes to the next block
        drop_last();
        best = best_single(round);
      }
      if (room_ >= 0 && best.room >= room_) return;
      apply(best);
      if (room_ <= good_enough) return;
    }
  }

  // Gives the last samples back, then takes the next ones that fit, until room_ is
  // within what an exchange can mend.
  void come_near() {
    while (room_ < -near_ && num_samples() > 1) room_ += sizes_[--end_];
    const std::size_t last = window_end();
    for (std::size_t i = end_; i < last && room_ > near_; ++i) {
      if (num_samples() == limits_.max_samples) return;
      if (sizes_[i] > room_) continue;
      room_ -= sizes_[i];
      swap_samples(i, end_++);
    }
  }

  void drop_last() {
    --end_;
    room_ += sizes_[end_];
    insert_candidate({sizes_[end_], end_});
  }

  std::size_t window_end() const {
    const std::int64_t count = std::clamp(kWindowBlocks * num_samples(), kMinWindow, kMaxWindow);
    return std::min(sizes_.size(), end_ + static_cast<std::size_t>(count));
  }

  void insert_candidate(const Candidate& candidate) {
    window_.insert(std::ranges::upper_bound(window_, candidate.size, {}, &Candidate::size),
                   candidate);
  }

  void sort_window() {
    const std::size_t last = window_end();
    window_.clear();
    for (std::size_t i = end_; i < last; ++i) window_.push_back({sizes_[i], i});
    std::ranges::sort(window_, {},
                      [](const Candidate& c) { return std::pair(c.size, c.position); });
  }

  // The exchange of at most one sample each way that leaves the least room; the first
  // one found, from a random place of the block on, when it leaves none. To give none
  // and take one is a candidate like any other: taken first, it would draw the small
  // samples to the front.
  Exchange best_single(int round) const {
    Exchange best;
    if (room_ >= 0) best.room = room_;
    const auto count = static_cast<std::uint32_t>(num_samples());
    const std::uint32_t start = below(random(static_cast<std::uint32_t>(round))[0], count + 1);
    for (std::uint32_t i = 0; i <= count && best.room != 0; ++i) {
      const std::uint32_t place = (start + i) % (count + 1);
      if (place < count) {
        consider(1, begin_ + place, best);
      } else if (num_samples() < limits_.max_samples) {
        consider(0, {}, best);
      }
    }
    return best;
  }

  // Takes the best partner for the sample at `out` (num_out = 0: for none) into `best`.
  void consider(std::size_t num_out, std::size_t out, Exchange& best) const {
    const std::int64_t room = room_ + (num_out == 0 ? 0 : sizes_[out]);
    if (room < 0) return;
    const auto above = std::ranges::upper_bound(window_, room, {}, &Candidate::size);
    if (above != window_.begin()) {
      const Candidate& in = *(above - 1);
      if (best.room < 0 || room - in.size < best.room) {
        best = {room - in.size, num_out, 1, {out}, {in.position}};
      }
    } else if (num_samples() > 1 && (best.room < 0 || room < best.room)) {
      best = {room, num_out, 0, {out}, {}};
    }
  }

  // Two random samples of the block against the two of the window that fit best.
  void try_pairs(int round, Exchange& best) const {
    const auto count = static_cast<std::uint32_t>(num_samples());
    if (count < 2 || window_.size() < 2) return;
    for (std::uint32_t number = 0; number < std::min(count, kMaxPairsTried) && best.room != 0;
         ++number) {
      const Philox4 r = random(kPairMark | static_cast<std::uint32_t>(round) << 16 | number);
      const std::uint32_t first = below(r[0], count);
      const std::uint32_t second = (first + 1 + below(r[1], count - 1)) % count;
      const std::size_t a = begin_ + first, b = begin_ + second;
      const std::int64_t room = room_ + sizes_[a] + sizes_[b];
      std::size_t low = 0, high = window_.size() - 1;
      while (low < high) {
        const std::int64_t left = room - window_[low].size - window_[high].size;
        if (left < 0) {
          --high;
          continue;
        }
        if (best.room < 0 || left < best.room) {
          best = {left, 2, 2, {a, b}, {window_[low].position, window_[high].position}};
        }
        ++low;
      }
    }
  }

  void apply(const Exchange& exchange) {
    const std::size_t both = std::min(exchange.num_out, exchange.num_in);
    for (std::size_t k = 0; k < both; ++k) swap_samples(exchange.out[k], exchange.in[k]);
    if (exchange.num_out > both) swap_samples(exchange.out[both], --end_);
    if (exchange.num_in > both) swap_samples(exchange.in[both], end_++);
    room_ = exchange.room;
  }

  void swap_samples(std::size_t a, std::size_t b) {
    std::swap(order_[a], order_[b]);
    std::swap(sizes_[a], sizes_[b]);
  }

  Philox4 random(std::uint32_t number) const {
    const std::uint64_t block = counts_.size();
    return philox4x32(seed_, {static_cast<std::uint32_t>(block),
                              static_cast<std::uint32_t>(block >> 32), number, 1});
  }

  std::span<std::int64_t> order_;
  std::span<std::int64_t> sizes_;
  BlockLimits limits_;
  std::uint64_t seed_;
  std::vector<std::int64_t> shares_;  // sums of the list's sizes before any exchange
  std::int64_t near_ = 0;             // kMeansExchanged in bytes
  std::vector<std::int64_t> counts_;
  std::vector<Candidate> window_;  // samples behind the present block, by size
  std::size_t begin_ = 0;          // the present block is [begin_, end_) of the list
  std::size_t end_ = 0;
  std::int64_t room_ = 0;    // of the present block; negative: too full
  std::int64_t filled_ = 0;  // bytes in the blocks before it
};

}  // namespace

std::vector<std::int64_t> fill_in_order(std::span<const std::int64_t> sizes,
                                        const BlockLimits& limits) {
  std::vector<std::int64_t> counts;
  std::int64_t room = 0;
  for (const std::int64_t size : sizes) {
    if (counts.empty() || size > room || counts.back() >= limits.max_samples) {
      counts.push_back(0);
      room = limits.capacity;
    }
    ++counts.back();
    room -= size;
  }
  return counts;
}

std::vector<std::int64_t> fill_tightly(std::span<std::int64_t> order, std::span<std::int64_t> sizes,
                                       const BlockLimits& limits, std::uint64_t seed) {
  return TightFill(order, sizes, limits, seed).run();
}

}  // namespace dts
