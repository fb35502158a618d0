// SPDX-License-Identifier: Apache-2.0
// Who reads what next, and when: the rules without threads.
#include "pipeline/block_feeder_units.h"

#include "support.h"

namespace dts {
namespace {

using Numbers = std::vector<std::int64_t>;

FeederUnits::Options options_of(int readers, bool has_store = false) {
  FeederUnits::Options options;
  options.readers = readers;
  options.has_store = has_store;
  options.num_samples = 100;
  return options;
}

// What the reader can claim now, as unit * 100 + place.
Numbers claim_all(FeederUnits& units, int reader) {
  Numbers claimed;
  ReadTask task;
  while (units.claim(reader, task)) claimed.push_back(task.unit->number * 100 + task.place);
  return claimed;
}

void finish_all(FeederUnits& units, std::int64_t number) {
  FeederUnit* unit = units.find(number);
  REQUIRE(unit != nullptr);
  while (!units.finish({unit, 0})) {
  }
  units.set_phase(*unit, UnitPhase::kReady);
}

TEST_CASE("units: blocks go to readers by stride, units of single samples in turn") {
  FeederUnits units(options_of(3, true));
  units.append({{1}, {10, 11, 12, 13, 14}});
  units.append({{1}, {10}});
  units.append({{5}, {}});
  units.append({{5}, {}});
  units.append({{5}, {}});
  units.append({{1}, {10, 11}});
  CHECK(claim_all(units, 0) == Numbers{0, 3, 100, 300, 500});
  CHECK(claim_all(units, 1) == Numbers{1, 4, 400, 501});
  CHECK(claim_all(units, 2) == Numbers{2, 200});
  CHECK(units.num_waiting() == 6);
}

TEST_CASE("units: samples beside the blocks are a task behind them") {
  FeederUnits units(options_of(3, true));
  units.append({{1, 2}, {10, 11}}, {1});
  units.append({{1, 2}, {10, 11}});
  CHECK(claim_all(units, 0) == Numbers{0, 100});
  CHECK(claim_all(units, 1) == Numbers{1, 101});
  CHECK(claim_all(units, 2) == Numbers{2});
  FeederUnit* unit = units.find(0);
  REQUIRE(unit != nullptr);
  CHECK(unit->is_loose(2));
  CHECK_FALSE(unit->is_loose(1));
  CHECK_FALSE(units.finish({unit, 2}));
  CHECK_FALSE(units.finish({unit, 0}));
  CHECK(units.finish({unit, 1}));
}

TEST_CASE("units: tasks come in stream order, also those that were admitted later") {
  FeederUnits units(options_of(1));
  for (int i = 0; i < 5; ++i) units.append({{5}, {}});
  units.append({{1}, {10}});
  CHECK(units.want(*units.find(5)));
  // The window of single units ends before unit 3; the blocks behind it are free to go.
  CHECK(claim_all(units, 0) == Numbers{0, 100, 200, 500});
  finish_all(units, 0);
  CHECK(units.release(0, 1));
  CHECK(claim_all(units, 0) == Numbers{300});
}

TEST_CASE("units: the first blocks wait until half of the single units before them are released") {
  for (const bool has_store : {false, true}) {
    FeederUnits units(options_of(1, has_store));
    CHECK_FALSE(units.lets_store_fill());
    CHECK(units.append({{1, 2}, {}}));
    CHECK(units.append({{3, 4}, {}}));
    CHECK(units.append({{5, 6}, {}}));
    CHECK_FALSE(units.lets_store_fill());
    CHECK_FALSE(units.append({{7}, {10}}));
    CHECK_FALSE(units.append({{8}, {11}}));
    CHECK(claim_all(units, 0) == Numbers{0, 100, 200});
    for (std::int64_t i = 0; i < 3; ++i) finish_all(units, i);
    // What is released behind the oldest one doesn't count.
    CHECK_FALSE(units.release(1, 2));
    CHECK_FALSE(units.release(2, 2));
    CHECK_FALSE(units.release(0, 1));
    CHECK_FALSE(units.lets_store_fill());
    CHECK(claim_all(units, 0).empty());
    CHECK(units.release(0, 1));
    CHECK(units.lets_store_fill());
    CHECK(claim_all(units, 0) == Numbers{300, 400});
    // The next stream begins in the same way.
    units.reset();
    units.append({{1}, {}});
    CHECK_FALSE(units.append({{7}, {10}}));
    CHECK(claim_all(units, 0) == Numbers{0});
    CHECK_FALSE(units.want(*units.find(0)));
    CHECK_FALSE(units.lets_store_fill());
    CHECK(units.want(*units.find(1)));
    CHECK_FALSE(units.want(*units.find(1)));
    CHECK(units.lets_store_fill());
    CHECK(claim_all(units, 0) == Numbers{100});
  }
}

TEST_CASE("units: blocks with nothing before them come at once") {
  FeederUnits units(options_of(1));
  CHECK(units.append({{7}, {10}}));
  CHECK(units.append({{8}, {}}));
  CHECK(units.lets_store_fill());
  CHECK(claim_all(units, 0) == Numbers{0, 100});
}

TEST_CASE("units: the window of single units begins at the oldest one not released") {
  FeederUnits units(options_of(1));
  for (int i = 0; i < 8; ++i) units.append({{5, 6}, {}});
  CHECK(claim_all(units, 0) == Numbers{0, 100, 200});
  for (std::int64_t i = 0; i < 3; ++i) finish_all(units, i);
  CHECK(units.num_waiting() == 5);
  units.release(1, 2);
  units.release(2, 2);
  CHECK(claim_all(units, 0).empty());
  CHECK_FALSE(units.release(0, 1));
  CHECK(claim_all(units, 0).empty());
  units.release(0, 1);
  CHECK(claim_all(units, 0) == Numbers{300, 400, 500});
}

TEST_CASE("units: a third unit of blocks waits for the first one's memory") {
  FeederUnits units(options_of(2));
  for (std::int64_t i = 0; i < 4; ++i) units.append({{1, 2}, {10, 11}});
  CHECK(claim_all(units, 0) == Numbers{0, 100});
  CHECK(claim_all(units, 1) == Numbers{1, 101});
  for (std::int64_t i = 0; i < 2; ++i) finish_all(units, i);
  CHECK_FALSE(units.release(1, 2));  // unit 3's memory, but unit 2 comes first
  CHECK(claim_all(units, 0).empty());
  CHECK(units.release(0, 2));
  CHECK(claim_all(units, 0) == Numbers{200, 300});
  CHECK(claim_all(units, 1) == Numbers{201, 301});
}

TEST_CASE("units: a reader without a share in a unit does not overtake it") {
  FeederUnits units(options_of(2));
  for (int i = 0; i < 4; ++i) units.append({{1}, {10}});
  // All shares are reader 0's; two units are admitted, for whichever reader.
  CHECK(claim_all(units, 1).empty());
  CHECK(claim_all(units, 0) == Numbers{0, 100});
}

TEST_CASE("units: released ones are gone, later ones are not there yet") {
  FeederUnits units(options_of(1));
  units.append({{1}, {}});
  units.append({{2}, {}});
  CHECK(units.find(2) == nullptr);
  claim_all(units, 0);
  finish_all(units, 0);
  finish_all(units, 1);
  units.release(1, 1);
  CHECK_THROWS_WITH_AS(units.find(1), "unit 1 has been released already", InvalidArgument);
  CHECK(units.find(0)->number == 0);
  units.release(0, 1);
  CHECK_THROWS_WITH_AS(units.find(0), "unit 0 has been released already", InvalidArgument);
  units.append({{3}, {}});
  CHECK(units.find(2)->request.samples == Numbers{3});
  units.reset();
  CHECK(units.find(0) == nullptr);
  CHECK_FALSE(units.lets_store_fill());
  CHECK(units.num_waiting() == 0);
  units.append({{4}, {}});
  CHECK(units.find(0)->request.samples == Numbers{4});
  CHECK(claim_all(units, 0) == Numbers{0});
}

TEST_CASE("units: memory of single samples goes from unit to unit, until groups come") {
  FeederUnits units(options_of(1));
  units.append({{1}, {}});
  ReadTask task;
  REQUIRE(units.claim(0, task));
  CHECK(task.unit->memory.held_bytes() == 0);
  task.unit->memory.reserve(1000);
  finish_all(units, 0);
  units.release(0, 1);
  units.append({{1}, {}});
  REQUIRE(units.claim(0, task));
  CHECK(task.unit->memory.held_bytes() == 1000);
  units.reset();
  units.append({{1}, {}});
  REQUIRE(units.claim(0, task));
  CHECK(task.unit->memory.held_bytes() == 1000);
  units.append({{1}, {10}});
  finish_all(units, 0);
  units.release(0, 1);
  units.append({{1}, {}});
  while (units.claim(0, task)) {
  }
  CHECK(task.unit->memory.held_bytes() == 0);
}

TEST_CASE("units: memory goes to single units that are still to be read, not beyond a group") {
  FeederUnits units(options_of(1));
  for (int i = 0; i < 5; ++i) units.append({{1}, {}});
  units.append({{1}, {10}});
  ReadTask task;
  Numbers held;
  for (std::int64_t i = 0; i < 5; ++i) {
    while (units.find(i)->memory.held_bytes() == 0) {
      REQUIRE(units.claim(0, task));
      if (!task.unit->is_single()) continue;
      held.push_back(static_cast<std::int64_t>(task.unit->memory.held_bytes()));
      task.unit->memory.reserve(1000);
    }
    finish_all(units, i);
    units.release(i, 1);
  }
  CHECK(held == Numbers{0, 1000, 1000, 1000, 1000});
  units.append({{1}, {}});
  while (units.claim(0, task)) {
  }
  CHECK(task.unit->memory.held_bytes() == 0);
}

TEST_CASE("units: the store is filled in step with single samples") {
  FeederUnits::Options options = options_of(1, true);
  options.num_kept_blocks = 10;
  FeederUnits units(options);
  options.single_units_ahead = 9;
  const auto targets = [&](const Numbers& sizes) {
    FeederUnits fresh(options);
    for (const std::int64_t size : sizes) {
      fresh.append({Numbers(static_cast<std::size_t>(size), 1), {}});
    }
    Numbers found;
    ReadTask task;
    while (fresh.claim(0, task)) found.push_back(task.unit->keep_target);
    return found;
  };
  // The first unit is waited for and comes at once; the last one makes it complete.
  CHECK(targets({30, 30, 30, 10}) == Numbers{0, 6, 9, 10});
  CHECK(targets({5, 1, 1, 4}) == Numbers{0, 1, 1, 2});
  CHECK(targets({99, 1, 50}) == Numbers{0, 10, 10});
  CHECK(targets({100}) == Numbers{10});
  // Where groups of blocks come, they bring the blocks.
  units.append({Numbers(100, 1), {}});
  units.append({{1}, {3}});
  ReadTask task;
  REQUIRE(units.claim(0, task));
  CHECK(task.unit->keep_target == 0);
}

TEST_CASE("units: filling the store waits until it may, and is complete at the end all the same") {
  FeederUnits::Options options = options_of(1, true);
  options.num_kept_blocks = 10;
  options.single_units_ahead = 2;
  FeederUnits units(options);
  units.fill_store(false);
  for (int i = 0; i < 10; ++i) units.append({Numbers(10, 1), {}});
  ReadTask task;
  Numbers targets;
  const auto claim_and_release = [&] {
    while (units.claim(0, task)) {
      targets.push_back(task.unit->keep_target);
      REQUIRE(units.finish(task));
      units.set_phase(*task.unit, UnitPhase::kReady);
    }
    units.release(static_cast<std::int64_t>(targets.size()) - 2, 10);
  };
  for (int i = 0; i < 3; ++i) claim_and_release();
  CHECK_FALSE(units.lets_store_fill());
  units.fill_store(true);
  CHECK(units.lets_store_fill());
  for (int i = 0; i < 6; ++i) claim_and_release();
  // Four units were claimed before it might; the others share the ten blocks.
  CHECK(targets == Numbers{0, 0, 0, 0, 2, 4, 5, 7, 9, 10});
  // One that is never told has all blocks loaded by the unit that ends the epoch.
  FeederUnits never(options);
  never.fill_store(false);
  never.append({Numbers(99, 1), {}});
  never.append({{1}, {}});
  targets.clear();
  while (never.claim(0, task)) targets.push_back(task.unit->keep_target);
  CHECK(targets == Numbers{0, 10});
  // Another stream begins anew.
  never.reset();
  never.append({Numbers(50, 1), {}});
  never.append({{1}, {}});
  targets.clear();
  while (never.claim(0, task)) targets.push_back(task.unit->keep_target);
  CHECK(targets == Numbers{0, 6});
}

}  // namespace
}  // namespace dts
