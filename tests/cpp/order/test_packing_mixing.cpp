// SPDX-License-Identifier: Apache-2.0
// Blocks are random samples of the set: statistics of a packing, as z-scores against
// what filling blocks at random gives.
#include <algorithm>
#include <cmath>
#include <vector>

#include "order/packing.h"
#include "order/packing_sets.h"

namespace {

using dts::Packing;
using dts::PackingOptions;
using dts::testing::kIsSanitized;
using dts::testing::normal;
using dts::testing::Sizes;

constexpr std::size_t kNumClasses = 1000;
constexpr std::size_t kNumGroups = 20;  // classes are pooled: some 7 samples a block and group

// Sorted by class, as a folder is. A class's mean size is its own.
struct ClassSet {
  std::vector<std::size_t> classes;
  Sizes sizes;
};

ClassSet class_set(std::size_t count, std::uint64_t seed) {
  ClassSet set;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t label = i * kNumClasses / count;
    set.classes.push_back(label);
    const double log_size =
        std::log(90000.0) + 0.5 * normal(seed, label) + 0.5 * normal(seed + 1000, i);
    set.sizes.push_back(static_cast<std::int64_t>(std::exp(log_size)));
  }
  return set;
}

struct Scores {
  double classes = 0;  // chi-square of class groups over blocks
  double trend = 0;    // correlation of size with block number
  double log_trend = 0;
  double first = 0;  // mean log size of the first and last 5 % of blocks
  double last = 0;
  double small = 0;  // chi-square of the smallest and the largest tenth over blocks
  double large = 0;
  double worst() const {
    return std::max({std::abs(classes), std::abs(trend), std::abs(log_trend), std::abs(first),
                     std::abs(last), std::abs(small), std::abs(large)});
  }
};

// Sums of a value's deviation from its mean.
class Deviation {
 public:
  explicit Deviation(const std::vector<double>& values) {
    for (const double value : values) mean_ += value / static_cast<double>(values.size());
    for (const double value : values) squares_ += (value - mean_) * (value - mean_);
  }
  double mean() const { return mean_; }
  double squares() const { return squares_; }

 private:
  double mean_ = 0;
  double squares_ = 0;
};

double chi_square_score(double chi_square, double degrees) {
  return (chi_square - degrees) / std::sqrt(2.0 * degrees);
}

Scores score(const ClassSet& set, const Packing& packing) {
  const std::size_t count = set.sizes.size();
  const std::size_t num_blocks = packing.block_counts.size();
  const double n = static_cast<double>(count);
  std::vector<double> size, log_size, place;
  std::vector<double> share(kNumGroups, 0.0);
  std::size_t stored = 0;
  for (std::size_t block = 0; block < num_blocks; ++block) {
    for (std::int64_t k = 0; k < packing.block_counts[block]; ++k) {
      const auto sample = static_cast<std::size_t>(packing.order[stored++]);
      size.push_back(static_cast<double>(set.sizes[sample]));
      log_size.push_back(std::log(size.back()));
      place.push_back(static_cast<double>(block));
      share[set.classes[sample] % kNumGroups] += 1.0 / n;
    }
  }
  std::vector<double> sorted = size;
  std::ranges::sort(sorted);
  const double tenth = sorted[count / 10], top_tenth = sorted[count - count / 10];
  const Deviation sizes(size), log_sizes(log_size), places(place);

  Scores scores;
  double chi_classes = 0, chi_small = 0, chi_large = 0, trend = 0, log_trend = 0;
  double first_sum = 0, first_count = 0, last_sum = 0, last_count = 0;
  stored = 0;
  for (std::size_t block = 0; block < num_blocks; ++block) {
    const auto in_block = static_cast<double>(packing.block_counts[block]);
    std::vector<double> groups(kNumGroups, 0.0);
    double num_small = 0, num_large = 0;
    for (std::int64_t k = 0; k < packing.block_counts[block]; ++k, ++stored) {
      ++groups[set.classes[static_cast<std::size_t>(packing.order[stored])] % kNumGroups];
      num_small += size[stored] < tenth;
      num_large += size[stored] >= top_tenth;
      trend += (size[stored] - sizes.mean()) * (place[stored] - places.mean());
      const double log_deviation = log_size[stored] - log_sizes.mean();
      log_trend += log_deviation * (place[stored] - places.mean());
      if (block < num_blocks / 20) first_sum += log_deviation, ++first_count;
      if (block >= num_blocks - num_blocks / 20) last_sum += log_deviation, ++last_count;
    }
    if (block + 1 == num_blocks) break;  // the last block is a smaller sample
    for (std::size_t group = 0; group < kNumGroups; ++group) {
      const double expected = in_block * share[group];
      chi_classes += (groups[group] - expected) * (groups[group] - expected) / expected;
    }
    const auto tenth_term = [in_block](double found) {
      const double deviation = found - 0.1 * in_block;
      return deviation * deviation / (0.09 * in_block);
    };
    chi_small += tenth_term(num_small);
    chi_large += tenth_term(num_large);
  }
  const double blocks = static_cast<double>(num_blocks - 1);
  scores.classes = chi_square_score(chi_classes, blocks * (kNumGroups - 1));
  scores.small = chi_square_score(chi_small, blocks);
  scores.large = chi_square_score(chi_large, blocks);
  scores.trend = std::sqrt(n) * trend / std::sqrt(sizes.squares() * places.squares());
  scores.log_trend = std::sqrt(n) * log_trend / std::sqrt(log_sizes.squares() * places.squares());
  const double sigma = std::sqrt(log_sizes.squares() / n);
  scores.first = first_sum / (sigma * std::sqrt(first_count));
  scores.last = last_sum / (sigma * std::sqrt(last_count));
  return scores;
}

}  // namespace

TEST_CASE("classes and sizes spread over the blocks as chance would have it") {
  constexpr std::size_t kCount = kIsSanitized ? 30000 : 100000;
  Scores sum;
  constexpr int kNumSeeds = 4;
  for (int seed = 0; seed < kNumSeeds; ++seed) {
    CAPTURE(seed);
    const ClassSet set = class_set(kCount, static_cast<std::uint64_t>(seed));
    const Packing packing =
        dts::pack_samples(set.sizes, {.seed = static_cast<std::uint64_t>(seed)});
    dts::testing::check_packing(set.sizes, packing, 16u << 20);
    // Samples were exchanged: next-fit alone takes more blocks.
    CHECK(dts::testing::num_blocks(packing) ==
          dts::packing_bound(set.sizes, 16u << 20, packing.block_header_size));
    const Scores scores = score(set, packing);
    CHECK(std::abs(scores.classes) < 4);
    CHECK(std::abs(scores.trend) < 4);
    CHECK(std::abs(scores.log_trend) < 4);
    CHECK(std::abs(scores.first) < 4);
    CHECK(std::abs(scores.last) < 4);
    CHECK(std::abs(scores.small) < 4);
    CHECK(std::abs(scores.large) < 4);
    sum.classes += scores.classes;
    sum.trend += scores.trend;
    sum.log_trend += scores.log_trend;
    sum.first += scores.first;
    sum.last += scores.last;
    sum.small += scores.small;
    sum.large += scores.large;
  }
  // A bias too small for one seed would add up.
  CHECK(sum.worst() / std::sqrt(kNumSeeds) < 4);
}

TEST_CASE("the same statistics fail for packings that don't mix") {
  const ClassSet set = class_set(30000, 1);
  PackingOptions options;
  options.shuffled = false;
  const Scores by_class = score(set, dts::pack_samples(set.sizes, options));
  CHECK(by_class.classes > 500);

  ClassSet by_size = set;
  std::ranges::sort(by_size.sizes);
  const Scores sorted = score(by_size, dts::pack_samples(by_size.sizes, options));
  CHECK(sorted.trend > 20);
  CHECK(sorted.log_trend > 20);
  CHECK(sorted.first < -20);
  CHECK(sorted.last > 20);
  CHECK(sorted.small > 20);
  CHECK(sorted.large > 20);
}
