// SPDX-License-Identifier: Apache-2.0
// The feeder in FULLY mode, and in forked processes.
#include <sys/wait.h>

#include <random>
#include <thread>

#include "fake_source.h"
#include "pipeline/block_feeder.h"

namespace dts {
namespace {

using testing::check_views;
using testing::FakeSource;
using testing::Gate;

using Numbers = std::vector<std::int64_t>;

std::shared_ptr<FakeSource> kept_source(const Numbers& counts) {
  auto source = std::make_shared<FakeSource>(counts);
  source->kept_in = make_private_store(source->num_blocks(), FakeSource::kBlockBytes);
  return source;
}

FeederOptions options_of(int readers) {
  FeederOptions options;
  options.reader_threads = readers;
  return options;
}

// All samples, in an order of their own, in units of `size` single samples.
std::vector<ReadUnit> single_units(const FakeSource& source, std::size_t size, std::uint32_t seed) {
  Numbers samples(static_cast<std::size_t>(source.num_samples()));
  std::iota(samples.begin(), samples.end(), 0);
  std::mt19937 random(seed);
  std::shuffle(samples.begin(), samples.end(), random);
  std::vector<ReadUnit> units;
  for (std::size_t first = 0; first < samples.size(); first += size) {
    const std::size_t end = std::min(first + size, samples.size());
    units.push_back({{samples.begin() + static_cast<std::ptrdiff_t>(first),
                      samples.begin() + static_cast<std::ptrdiff_t>(end)},
                     {}});
  }
  return units;
}

void run_epoch(BlockFeeder& feeder, const std::vector<ReadUnit>& units) {
  feeder.start();
  for (const ReadUnit& unit : units) feeder.append(unit);
  for (std::size_t i = 0; i < units.size(); ++i) {
    check_views(feeder.wait(static_cast<std::int64_t>(i)), units[i].samples);
    feeder.release(static_cast<std::int64_t>(i),
                   static_cast<std::int64_t>(units[i].samples.size()));
  }
  feeder.stop();
}

TEST_CASE("feeder, FULLY: one epoch of single samples leaves everything in memory") {
  for (const int readers : {1, 3}) {
    // In one unit, in some, and sample by sample.
    for (const std::size_t size : {100, 7, 1}) {
      CAPTURE(readers);
      CAPTURE(size);
      const auto source = kept_source({3, 1, 5, 2, 8, 1, 4, 4, 2, 9, 3});
      BlockFeeder feeder(source, options_of(readers));
      run_epoch(feeder, single_units(*source, size, 1));
      CHECK(source->kept_in->is_complete());
      for (std::int64_t block = 0; block < 11; ++block) CHECK(source->block_reads(block) == 1);
      const int num_reads = source->num_reads();
      run_epoch(feeder, single_units(*source, size, 2));
      CHECK(source->num_reads() == num_reads);
      CHECK(feeder.stats().blocks_read == 11);
    }
  }
}

TEST_CASE("feeder, FULLY: a block is read once, whatever the units and however many streams") {
  const auto source = kept_source(Numbers(9, 4));
  std::vector<ReadUnit> units;
  for (std::int64_t block = 0; block < 9; block += 3) {
    ReadUnit unit{{}, {block, block + 1, block + 2}};
    for (std::int64_t sample = 4 * block; sample < 4 * block + 12; ++sample) {
      unit.samples.push_back(sample);
    }
    units.push_back(unit);
  }
  BlockFeeder first(source, options_of(2));
  BlockFeeder second(source, options_of(2));
  std::thread other([&] { run_epoch(second, {units[2], units[0], units[1]}); });
  run_epoch(first, units);
  other.join();
  run_epoch(first, {units[1], units[1], units[0]});
  for (std::int64_t block = 0; block < 9; ++block) CHECK(source->block_reads(block) == 1);
  for (std::int64_t sample = 0; sample < 36; ++sample) CHECK(source->sample_reads(sample) == 0);
  CHECK(first.stats().blocks_read + second.stats().blocks_read == 9);
}

TEST_CASE("feeder, FULLY: readers without work fill the store, and a stopped stream keeps it") {
  const auto source = kept_source(Numbers(5, 2));
  Gate is_filled;
  std::atomic<int> num_begun{0};
  source->on_block = [&](std::int64_t) {
    if (++num_begun == 5) is_filled.open();
  };
  BlockFeeder feeder(source, options_of(1));
  feeder.start();
  feeder.append({{3}, {}});
  check_views(feeder.wait(0), {3});
  CHECK(source->sample_reads(3) == 1);  // it did not wait for the store
  CHECK(num_begun == 0);                // which has to wait until the first samples are used
  feeder.release(0);
  is_filled.wait();  // though nothing more was asked for
  feeder.stop();
  CHECK(source->kept_in->is_complete());
  const int num_reads = source->num_reads();
  run_epoch(feeder, single_units(*source, 3, 1));
  CHECK(source->num_reads() == num_reads);
}

TEST_CASE("feeder, FULLY: a block nobody asked for does not disturb when it is damaged") {
  const auto source = kept_source(Numbers{2, 2, 2});
  std::atomic<int> num_failed{0};
  source->on_block = [&](std::int64_t block) {
    if (block != 1) return;
    ++num_failed;
    throw CorruptFile("a.dts", 5, "block 1: CRC-32");
  };
  BlockFeeder feeder(source, options_of(1));
  run_epoch(feeder, single_units(*source, 1, 1));
  CHECK(num_failed >= 1);
  CHECK_FALSE(source->kept_in->is_complete());
  feeder.start();
  feeder.append({{2, 3}, {1}});
  CHECK_THROWS_AS(feeder.wait(0), CorruptFile);
  feeder.append({{0, 1}, {0}});
  check_views(feeder.wait(1), {0, 1});
}

TEST_CASE("feeder, FULLY: a store given by the options is used") {
  const auto source = std::make_shared<FakeSource>(Numbers{2, 2, 2});
  FeederOptions options = options_of(1);
  options.store = make_private_store(3, FakeSource::kBlockBytes);
  BlockFeeder feeder(source, options);
  run_epoch(feeder, {{{2, 0}, {0, 1}}, {{1}, {}}, {{5, 4}, {2}}});
  CHECK(options.store->is_complete());
}

TEST_CASE("feeder: who waits wakes for the own unit") {
  const auto source = std::make_shared<FakeSource>(Numbers{8});
  Gate may_read;
  source->on_samples = [&](std::span<const std::int64_t>) { may_read.wait(); };
  BlockFeeder feeder(source, options_of(1));
  feeder.start();
  for (std::int64_t sample = 0; sample < 3; ++sample) feeder.append({{sample}, {}});
  CHECK(feeder.wait(0, 0).empty());
  const std::int64_t before = feeder.num_wakeups();
  std::vector<std::thread> waiters;
  for (std::int64_t k = 0; k < 12; ++k) waiters.emplace_back([&, k] { feeder.wait(k % 3); });
  may_read.open();
  for (std::thread& waiter : waiters) waiter.join();
  CHECK(feeder.num_wakeups() - before <= 12);
}

TEST_CASE("feeder: a forked child leaves its parent's feeder alone") {
  const auto source = std::make_shared<FakeSource>(Numbers{2, 2});
  auto feeder = std::make_unique<BlockFeeder>(source, options_of(2));
  feeder->start();
  feeder->append({{1}, {}});
  feeder->wait(0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    bool is_refused = false;
    try {
      feeder->start();
    } catch (const InvalidArgument&) {
      is_refused = true;
    }
    feeder->stop();
    feeder.reset();
    ::_exit(is_refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  feeder->append({{2, 3}, {1}});
  check_views(feeder->wait(1), {2, 3});
}

}  // namespace
}  // namespace dts
