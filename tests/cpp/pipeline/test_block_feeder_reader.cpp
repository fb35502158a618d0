// SPDX-License-Identifier: Apache-2.0
#include "pipeline/block_feeder_reader.h"

#include "fake_source.h"

namespace dts {
namespace {

using testing::check_bytes;
using testing::check_views;
using testing::FakeSource;

using Numbers = std::vector<std::int64_t>;

struct Bench {
  explicit Bench(const Numbers& counts, bool has_store = false) : source(counts) {
    if (has_store) {
      options.store = make_private_store(source.num_blocks(), FakeSource::kBlockBytes);
    }
  }
  FakeSource source;
  FeederOptions options;
  std::atomic<bool> stop{false};
  std::atomic<bool> may_keep{true};
  FeederReader reader{source, options, stop, may_keep};
};

FeederUnit unit_of(const Numbers& samples, const Numbers& blocks) {
  FeederUnit unit;
  unit.request = {samples, blocks};
  return unit;
}

TEST_CASE("feeder reader: single samples, with their views") {
  Bench bench({3, 3});
  FeederUnit unit = unit_of({5, 0, 5}, {});
  bench.reader.read({&unit, 0});
  check_views(unit.views, {5, 0, 5});
  bench.reader.read({&unit, 0});  // the same memory again
  check_views(unit.views, {5, 0, 5});
  const FeederStats stats = bench.reader.take_stats();
  CHECK(stats.bytes_read ==
        static_cast<std::int64_t>(4 * FakeSource::size_of(5) + 2 * FakeSource::size_of(0)));
  CHECK(bench.reader.take_stats().bytes_read == 0);
}

TEST_CASE("feeder reader: blocks go to their places, and views are made of them") {
  Bench bench({3, 3, 3});
  FeederUnit unit = unit_of({8, 0, 1, 6}, {2, 0});
  testing::Bytes memory(2 * FakeSource::kBlockBytes);
  unit.piece = memory;
  bench.reader.read({&unit, 1});
  bench.reader.read({&unit, 0});
  make_views(bench.source, nullptr, unit);
  check_views(unit.views, {8, 0, 1, 6});
  CHECK(unit.views[0].bytes.data() < unit.views[1].bytes.data());
  CHECK(bench.source.last_check);
  CHECK(bench.reader.take_stats().blocks_read == 2);
}

TEST_CASE("feeder reader: samples beside the blocks go to memory of their own") {
  Bench bench({3, 3, 3});
  FeederUnit unit = unit_of({8, 4, 0, 1, 5}, {0, 2});
  unit.loose = check_unit(bench.source, unit.request);
  CHECK(unit.loose == std::vector<std::size_t>{1, 4});
  testing::Bytes memory(2 * FakeSource::kBlockBytes);
  unit.piece = memory;
  bench.reader.read({&unit, 2});
  CHECK(bench.reader.take_stats().bytes_read ==
        static_cast<std::int64_t>(FakeSource::size_of(4) + FakeSource::size_of(5)));
  bench.reader.read({&unit, 1});
  bench.reader.read({&unit, 0});
  make_views(bench.source, nullptr, unit);
  check_views(unit.views, {8, 4, 0, 1, 5});
  CHECK(unit.memory.holds(unit.views[1].bytes.data()));
  CHECK(check_unit(bench.source, {{8, 4}, {}}).empty());
}

TEST_CASE("feeder reader: blocks go to the store, those it has are not read") {
  Bench bench({3, 3, 3}, true);
  FeederUnit unit = unit_of({8, 0}, {2, 0});
  bench.reader.read({&unit, 0});
  bench.reader.read({&unit, 0});
  bench.reader.read({&unit, 1});
  make_views(bench.source, bench.options.store.get(), unit);
  check_views(unit.views, {8, 0});
  CHECK(bench.source.block_reads(2) == 1);
  CHECK(unit.views[0].bytes.data() >= bench.options.store->find(2).data());
}

TEST_CASE("feeder reader: fills the store up to the unit's target, then reads") {
  Bench bench({3, 3, 3, 3}, true);
  FeederUnit unit = unit_of({8}, {});
  unit.keep_target = 2;
  int num_blocks_at_read = -1;
  bench.source.on_samples = [&](std::span<const std::int64_t>) {
    num_blocks_at_read = static_cast<int>(bench.options.store->num_held_blocks());
  };
  bench.reader.read({&unit, 0});
  CHECK(num_blocks_at_read == 2);
  bench.stop = true;
  unit.keep_target = 4;
  bench.reader.read({&unit, 0});
  CHECK(bench.options.store->num_held_blocks() == 2);
}

TEST_CASE("feeder reader: filling ends at the last block and at an error") {
  Bench bench({3, 3}, true);
  bench.reader.keep_next();
  bench.reader.keep_next();
  CHECK(bench.may_keep);
  bench.reader.keep_next();
  CHECK_FALSE(bench.may_keep);
  CHECK(bench.options.store->is_complete());

  Bench bad({3, 3}, true);
  bad.source.on_block = [](std::int64_t) { throw CorruptFile("a.dts", 1, "damaged"); };
  bad.reader.keep_next();
  CHECK_FALSE(bad.may_keep);

  Bench kept({3, 3});
  kept.source.kept_in = make_private_store(2, FakeSource::kBlockBytes);
  while (kept.may_keep) kept.reader.keep_next();  // by the source, where options have no store
  CHECK(kept.source.kept_in->is_complete());
}

TEST_CASE("feeder reader: handles are opened anew after an error") {
  Bench bench({3});
  int num_opened = 0;
  bench.source.on_open = [&] { ++num_opened; };
  FeederUnit unit = unit_of({1}, {});
  bench.reader.read({&unit, 0});
  bench.reader.read({&unit, 0});
  CHECK(num_opened == 1);
  bench.source.on_samples = [](std::span<const std::int64_t>) {
    throw IoError(116, "a.dts", "reading");
  };
  CHECK_THROWS_AS(bench.reader.read({&unit, 0}), IoError);
  bench.source.on_samples = nullptr;
  bench.reader.read({&unit, 0});
  CHECK(num_opened == 2);
  check_bytes(unit.views[0], 1);
}

}  // namespace
}  // namespace dts
