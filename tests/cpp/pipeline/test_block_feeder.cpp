// SPDX-License-Identifier: Apache-2.0
// The feeder's threads. Whatever must not happen is caught where it would happen (in the
// source's hooks); nothing here depends on time.
#include "pipeline/block_feeder.h"

#include <random>
#include <thread>

#include "fake_source.h"

namespace dts {
namespace {

using testing::check_views;
using testing::FakeSource;
using testing::Gate;
using testing::thrown;

using Numbers = std::vector<std::int64_t>;

FeederOptions options_of(int readers) {
  FeederOptions options;
  options.reader_threads = readers;
  return options;
}

ReadUnit blocks_unit(const FakeSource& source, const Numbers& blocks) {
  ReadUnit unit;
  unit.blocks = blocks;
  for (const std::int64_t block : blocks) {
    const Numbers samples = source.samples_of(block);
    unit.samples.insert(unit.samples.end(), samples.begin(), samples.end());
  }
  return unit;
}

// An epoch as units of random cuts: blocks in random order, their samples mixed, some blocks
// read whole and of some only the samples, and some runs of single samples first and in between.
std::vector<ReadUnit> random_epoch(const FakeSource& source, std::mt19937& random) {
  Numbers blocks(static_cast<std::size_t>(source.num_blocks()));
  std::iota(blocks.begin(), blocks.end(), 0);
  std::shuffle(blocks.begin(), blocks.end(), random);
  std::vector<ReadUnit> units;
  while (!blocks.empty()) {
    const std::size_t count = std::min<std::size_t>(blocks.size(), 1 + random() % 4);
    const Numbers taken(blocks.end() - static_cast<std::ptrdiff_t>(count), blocks.end());
    blocks.resize(blocks.size() - count);
    ReadUnit unit = blocks_unit(source, taken);
    std::shuffle(unit.samples.begin(), unit.samples.end(), random);
    if (random() % 3 > 0) {
      if (count > 1 && random() % 2 > 0) unit.blocks.pop_back();
      units.push_back(std::move(unit));
      continue;
    }
    while (!unit.samples.empty()) {
      const std::size_t some = std::min<std::size_t>(unit.samples.size(), 1 + random() % 5);
      units.push_back(
          {{unit.samples.end() - static_cast<std::ptrdiff_t>(some), unit.samples.end()}, {}});
      unit.samples.resize(unit.samples.size() - some);
    }
  }
  return units;
}

// Appends all units and goes through them in order, checking every byte.
void run_epoch(BlockFeeder& feeder, const std::vector<ReadUnit>& units) {
  feeder.start();
  for (const ReadUnit& unit : units) feeder.append(unit);
  for (std::size_t i = 0; i < units.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    check_views(feeder.wait(number), units[i].samples);
    check_views(feeder.wait(number, 0), units[i].samples);
    feeder.release(number, static_cast<std::int64_t>(units[i].samples.size()));
  }
  CHECK(feeder.num_units_waiting() == 0);
  feeder.stop();
}

TEST_CASE("feeder: each position of random units has its sample's bytes") {
  std::mt19937 random(1);
  for (const int readers : {1, 3}) {
    for (const bool is_fully : {false, true}) {
      CAPTURE(readers);
      CAPTURE(is_fully);
      const auto source = std::make_shared<FakeSource>(Numbers{3, 1, 5, 2, 8, 1, 4, 4, 2, 9, 3});
      if (is_fully) source->kept_in = make_private_store(11, FakeSource::kBlockBytes);
      BlockFeeder feeder(source, options_of(readers));
      for (int epoch = 0; epoch < 8; ++epoch) run_epoch(feeder, random_epoch(*source, random));
      if (!is_fully) continue;
      for (std::int64_t block = 0; block < 11; ++block) CHECK(source->block_reads(block) <= 1);
    }
  }
}

TEST_CASE("feeder: samples are released one by one, by several threads, in any order") {
  const auto source = std::make_shared<FakeSource>(Numbers{6, 6, 6, 6, 6, 6});
  BlockFeeder feeder(source, options_of(2));
  feeder.start();
  for (std::int64_t block = 0; block < 6; ++block) feeder.append(blocks_unit(*source, {block}));
  std::vector<std::thread> workers;
  std::atomic<int> wrong{0};
  for (std::int64_t worker = 0; worker < 3; ++worker) {
    workers.emplace_back([&, worker] {
      for (std::int64_t sample = worker; sample < 36; sample += 3) {
        const auto views = feeder.wait(sample / 6);
        const auto expected = FakeSource::bytes_of_sample(sample);
        const ConstByteSpan bytes = views[static_cast<std::size_t>(sample % 6)].bytes;
        if (!std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end())) ++wrong;
        feeder.release(sample / 6);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  CHECK(wrong == 0);
}

TEST_CASE("feeder: PARTIAL holds two units of blocks at most") {
  for (const int readers : {1, 3}) {
    const auto source = std::make_shared<FakeSource>(Numbers(12, 3));
    std::atomic<std::int64_t> num_released{0};
    std::atomic<int> too_early{0};
    // Unit k is blocks 2k and 2k+1.
    source->on_block = [&](std::int64_t block) {
      if (block / 2 >= num_released + 2) ++too_early;
    };
    BlockFeeder feeder(source, options_of(readers));
    feeder.start();
    for (std::int64_t k = 0; k < 6; ++k) feeder.append(blocks_unit(*source, {2 * k, 2 * k + 1}));
    for (std::int64_t k = 0; k < 6; ++k) {
      // Where it can be, the next unit is read beside this one.
      if (k + 1 < 6) feeder.wait(k + 1);
      check_views(feeder.wait(k), blocks_unit(*source, {2 * k, 2 * k + 1}).samples);
      ++num_released;
      feeder.release(k, 6);
    }
    CHECK(too_early == 0);
  }
}

TEST_CASE("feeder: a few units of single samples are ahead, no more") {
  const auto source = std::make_shared<FakeSource>(Numbers{40});
  std::atomic<std::int64_t> num_released{0};
  std::atomic<int> too_early{0};
  source->on_samples = [&](std::span<const std::int64_t> samples) {
    if (samples[0] / 4 >= num_released + 3) ++too_early;
  };
  BlockFeeder feeder(source, options_of(3));
  feeder.start();
  for (std::int64_t k = 0; k < 10; ++k)
    feeder.append({{4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3}, {}});
  for (std::int64_t k = 0; k < 10; ++k) {
    feeder.wait(std::min<std::int64_t>(k + 2, 9));
    check_views(feeder.wait(k), {4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3});
    ++num_released;
    feeder.release(k, 4);
  }
  CHECK(too_early == 0);
  for (std::int64_t sample = 0; sample < 40; ++sample) CHECK(source->sample_reads(sample) == 1);
}

TEST_CASE("feeder: a group is read while single units wait for room") {
  const auto source = std::make_shared<FakeSource>(Numbers{8, 8});
  FeederOptions options = options_of(1);
  options.single_units_ahead = 1;
  BlockFeeder feeder(source, options);
  feeder.start();
  for (std::int64_t sample = 0; sample < 4; ++sample) feeder.append({{sample}, {}});
  feeder.append(blocks_unit(*source, {1}));
  // Unit 1 can't be read before unit 0 is released, the blocks of unit 4 can.
  check_views(feeder.wait(4), source->samples_of(1));
  CHECK(feeder.wait(1, 0).empty());
  CHECK(feeder.num_units_waiting() == 3);
  for (std::int64_t k = 0; k < 4; ++k) {
    check_views(feeder.wait(k), {k});
    feeder.release(k);
  }
}

TEST_CASE("feeder: a group waits for the first samples, and comes where it is waited for") {
  for (const bool is_released : {false, true}) {
    const auto source = std::make_shared<FakeSource>(Numbers{8, 8});
    std::atomic<bool> may_begin{false};
    std::atomic<bool> too_early{false};
    Gate has_begun;
    source->on_block = [&](std::int64_t) {
      if (!may_begin) too_early = true;
      has_begun.open();
    };
    BlockFeeder feeder(source, options_of(2));
    feeder.start();
    for (std::int64_t k = 0; k < 2; ++k) feeder.append({{2 * k, 2 * k + 1}, {}});
    feeder.append(blocks_unit(*source, {1}));
    for (std::int64_t k = 0; k < 2; ++k) check_views(feeder.wait(k), {2 * k, 2 * k + 1});
    feeder.release(1, 2);
    feeder.release(0);
    may_begin = true;
    if (is_released) {
      feeder.release(0);
      has_begun.wait();  // nobody has waited for it
    }
    check_views(feeder.wait(2), source->samples_of(1));
    CHECK_FALSE(too_early);
  }
}

TEST_CASE("feeder: readers share the blocks of a unit") {
  const auto source = std::make_shared<FakeSource>(Numbers{2, 2, 2});
  Gate all_began;
  std::atomic<int> num_begun{0};
  source->on_block = [&](std::int64_t) {
    if (++num_begun == 3) all_began.open();
    all_began.wait();
  };
  BlockFeeder feeder(source, options_of(3));
  feeder.start();
  feeder.append(blocks_unit(*source, {2, 0, 1}));
  check_views(feeder.wait(0), {4, 5, 0, 1, 2, 3});
}

TEST_CASE("feeder: shared buffers serve one stream at a time") {
  const auto source = std::make_shared<FakeSource>(Numbers{4, 4});
  FeederOptions options = options_of(1);
  options.buffers = std::make_shared<ReadBuffers>();
  BlockFeeder training(source, options);
  BlockFeeder validation(source, options);
  training.start();
  const auto error = thrown<InvalidArgument>([&] { validation.start(); });
  CHECK(std::string(error.what()).find("in use") != std::string::npos);
  CHECK_THROWS_WITH_AS(validation.append({{0}, {}}),
                       "a unit was appended to a stream that is not running", InvalidArgument);
  training.append(blocks_unit(*source, {0}));
  check_views(training.wait(0), source->samples_of(0));
  training.stop();
  validation.start();
  validation.append(blocks_unit(*source, {1}));
  check_views(validation.wait(0), source->samples_of(1));
  // A stream that begins anew keeps the buffers; one whose feeder goes gives them back.
  validation.start();
  CHECK_THROWS_AS(training.start(), InvalidArgument);
  {
    FeederOptions others = options_of(1);
    others.buffers = std::make_shared<ReadBuffers>();
    auto third = std::make_unique<BlockFeeder>(source, others);
    third->start();
    third.reset();
    others.buffers->acquire();
  }
  validation.stop();
  training.start();
}

TEST_CASE("feeder: stop() ends waiting and waits for who reads") {
  const auto source = std::make_shared<FakeSource>(Numbers{4, 4});
  Gate is_reading;
  Gate may_read;
  std::atomic<bool> has_read{false};
  source->on_block = [&](std::int64_t) {
    is_reading.open();
    may_read.wait();
    has_read = true;
  };
  BlockFeeder feeder(source, options_of(1));
  feeder.start();
  feeder.append(blocks_unit(*source, {0}));
  feeder.append(blocks_unit(*source, {1}));
  std::atomic<int> num_empty{0};
  std::vector<std::thread> waiters;
  for (const std::int64_t number : {0, 1, 7}) {
    waiters.emplace_back([&, number] { num_empty += feeder.wait(number).empty() ? 1 : 0; });
  }
  is_reading.wait();
  std::thread stopper([&] {
    feeder.stop();
    CHECK(has_read);
  });
  for (std::thread& waiter : waiters) waiter.join();  // while the read is still held up
  CHECK(num_empty == 3);
  CHECK_FALSE(has_read);
  may_read.open();
  stopper.join();
  CHECK(source->block_reads(1) == 0);
  CHECK(feeder.wait(0).empty());
  feeder.release(0);  // late, and of no effect
  run_epoch(feeder, {blocks_unit(*source, {1, 0})});
}

TEST_CASE("feeder: an error reaches each waiter of its unit and no other unit") {
  for (const bool is_single : {false, true}) {
    const auto source = std::make_shared<FakeSource>(Numbers{4, 4, 4});
    std::atomic<bool> is_bad{true};
    source->on_block = [&](std::int64_t block) {
      if (is_bad && block == 1) throw CorruptFile("a.dts", 5, "block 1: CRC-32");
    };
    source->on_samples = [&](std::span<const std::int64_t> samples) {
      if (is_bad && samples[0] == 4) throw CorruptFile("a.dts", 5, "block 1: CRC-32");
    };
    std::vector<ReadUnit> units;
    for (std::int64_t block = 0; block < 3; ++block) {
      units.push_back(blocks_unit(*source, {block}));
      if (is_single) units.back().blocks.clear();
    }
    BlockFeeder feeder(source, options_of(2));
    feeder.start();
    for (const ReadUnit& unit : units) feeder.append(unit);
    std::atomic<int> num_errors{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&] {
        try {
          feeder.wait(1);
        } catch (const CorruptFile& error) {
          num_errors += error.offset == 5 && error.path == "a.dts" ? 1 : 0;
        }
      });
    }
    for (std::thread& waiter : waiters) waiter.join();
    CHECK(num_errors == 3);
    CHECK_THROWS_AS(feeder.wait(1, 0), CorruptFile);
    check_views(feeder.wait(0), units[0].samples);
    feeder.release(0, 4);
    check_views(feeder.wait(2), units[2].samples);
    CHECK_THROWS_AS(feeder.wait(1), CorruptFile);
    is_bad = false;
    run_epoch(feeder, units);
  }
}

TEST_CASE("feeder: a source that can't be opened is an error of the unit") {
  const auto source = std::make_shared<FakeSource>(Numbers{4});
  std::atomic<bool> is_gone{true};
  source->on_open = [&] {
    if (is_gone) throw IoError(2, "a.dts", "opening for reading");
  };
  BlockFeeder feeder(source, options_of(1));
  feeder.start();
  feeder.append({{1, 2}, {}});
  CHECK_THROWS_AS(feeder.wait(0), IoError);
  is_gone = false;
  feeder.append({{3, 2}, {}});
  check_views(feeder.wait(1), {3, 2});
}

TEST_CASE("feeder: wrong units and numbers") {
  const auto source = std::make_shared<FakeSource>(Numbers{4, 4});
  CHECK_THROWS_WITH_AS(BlockFeeder(source, options_of(0)),
                       "reader_threads is 0 and single_units_ahead 3, expected at least 1 each",
                       InvalidArgument);
  BlockFeeder feeder(source, options_of(1));
  CHECK(feeder.wait(0).empty());
  feeder.start();
  CHECK_THROWS_WITH_AS(feeder.append({}), "a unit has no samples, expected at least one",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(feeder.append({{8}, {}}), "sample 8 is out of range, the source has 8",
                       OutOfRange);
  CHECK_THROWS_WITH_AS(feeder.append({{-1}, {}}), "sample -1 is out of range, the source has 8",
                       OutOfRange);
  CHECK_THROWS_WITH_AS(feeder.append({{3, 8}, {0}}), "sample 8 is out of range, the source has 8",
                       OutOfRange);
  CHECK(feeder.num_units_waiting() == 0);
  feeder.append({{3, 5}, {0, 1}});
  CHECK_THROWS_WITH_AS(feeder.wait(-1), "unit -1 is negative", InvalidArgument);
  check_views(feeder.wait(0), {3, 5});
  CHECK_THROWS_WITH_AS(feeder.release(0, 3),
                       "releasing 3 samples of unit 0, which has 2 not released", InvalidArgument);
  CHECK_THROWS_WITH_AS(feeder.release(1), "releasing 1 samples of unit 1, which is not read yet",
                       InvalidArgument);
  feeder.release(0, 2);
  CHECK_THROWS_WITH_AS(feeder.wait(0), "unit 0 has been released already", InvalidArgument);
}

TEST_CASE("feeder: what was read is counted") {
  const auto source = std::make_shared<FakeSource>(Numbers{4, 4});
  FeederOptions options = options_of(2);
  options.check_blocks = false;
  BlockFeeder feeder(source, options);
  run_epoch(feeder, {blocks_unit(*source, {0, 1}), {{3, 7}, {}}});
  const FeederStats stats = feeder.stats();
  CHECK(stats.blocks_read == 2);
  CHECK(stats.bytes_read ==
        static_cast<std::int64_t>(2 * FakeSource::kBlockBytes + FakeSource::size_of(3) +
                                  FakeSource::size_of(7)));
  CHECK(stats.read_ns > 0);
  CHECK_FALSE(source->last_check);
  run_epoch(feeder, {blocks_unit(*source, {0})});
  CHECK(feeder.stats().blocks_read == 3);
}

}  // namespace
}  // namespace dts
