// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stream.h"

#include <random>

#include "pipeline/loader_set.h"

using namespace dts::testing;

namespace {

dts::StreamUnit unit_of(std::vector<std::int64_t> samples) {
  dts::StreamUnit unit;
  unit.samples = std::move(samples);
  return unit;
}

}  // namespace

TEST_CASE("positions are found in their unit and batch, whatever the cuts") {
  std::mt19937 random(3);
  for (int round = 0; round < 20; ++round) {
    const auto cuts = random_stream(200, 50, 30, 40, random);
    dts::Stream stream(nullptr, 1, 2);
    std::int64_t at = 0;
    for (const std::int64_t size : cuts.unit_sizes) {
      stream.append_unit(unit_of({cuts.samples.begin() + at, cuts.samples.begin() + at + size}));
      at += size;
    }
    for (const std::int64_t size : cuts.batch_sizes) stream.append_batch(size);
    CHECK(stream.units_end() == 200);
    CHECK(stream.batches_end() == 200);
    for (std::int64_t position = 0; position < 200; ++position) {
      const auto unit = stream.unit_at(position);
      const auto batch = stream.batch_at(position);
      REQUIRE(unit->begin <= position);
      REQUIRE(position < unit->end());
      REQUIRE(batch->begin <= position);
      REQUIRE(position < batch->end());
      CHECK(unit->samples[static_cast<std::size_t>(position - unit->begin)] ==
            cuts.samples[static_cast<std::size_t>(position)]);
    }
    CHECK(stream.unit_at(200) == nullptr);
    CHECK(stream.batch_at(200) == nullptr);
  }
}

TEST_CASE("units go when their last sample is finished and those before them are") {
  dts::Stream stream(nullptr, 0, 0);
  stream.append_unit(unit_of({1, 2, 3}));
  stream.append_unit(unit_of({4, 5}));
  const auto first = stream.unit_at(0);
  const auto second = stream.unit_at(3);
  CHECK(second->number == 1);
  stream.finish_in_unit(*second, 2);
  CHECK(second.use_count() == 2);
  stream.finish_in_unit(*first, 1);
  CHECK(stream.unit_at(2) == first);
  stream.finish_in_unit(*first, 2);
  CHECK(first.use_count() == 1);
  CHECK(second.use_count() == 1);
}

TEST_CASE("batches are opened, completed and delivered in order") {
  const auto station = dts::TransferStation::make();
  dts::Stream stream(nullptr, 0, 0);
  stream.append_unit(unit_of({1, 2, 3, 4, 5}));
  CHECK(stream.front() == nullptr);
  CHECK(stream.next_unopened() == nullptr);
  stream.append_batch(3);
  stream.append_batch(2);
  CHECK(stream.next_unopened()->number == 0);
  stream.open_next(station->acquire({3, 8}));
  CHECK(stream.num_opened() == 1);
  CHECK(stream.next_unopened()->number == 1);
  stream.open_next(station->acquire({2, 8}));
  CHECK(stream.next_unopened() == nullptr);
  const auto first = stream.batch_at(0);
  const auto second = stream.batch_at(3);
  CHECK(stream.finish_in_batch(*second, 2));
  CHECK_FALSE(stream.finish_in_batch(*first, 2));
  CHECK(stream.finish_in_batch(*first, 1));
  first->foreign_slots = {2, 0};
  CHECK_FALSE(stream.is_all_delivered());
  CHECK(stream.take_front() == first);
  CHECK(first->foreign_slots == std::vector<std::int64_t>{0, 2});
  CHECK(stream.num_delivered() == 1);
  CHECK(stream.front() == second.get());
  CHECK(stream.take_front() == second);
  CHECK_FALSE(stream.is_all_delivered());
  stream.finish();
  CHECK(stream.is_all_delivered());
}

TEST_CASE("a stream is over behind its end, when it is stopped, and from a failed batch on") {
  dts::Stream stream(nullptr, 0, 0);
  stream.append_unit(unit_of({1, 2, 3, 4}));
  for (int i = 0; i < 4; ++i) stream.append_batch(1);
  CHECK_FALSE(stream.is_over_from(3));
  CHECK_FALSE(stream.is_over_from(4));  // more may be appended
  stream.finish();
  CHECK_FALSE(stream.is_over_from(3));
  CHECK(stream.is_over_from(4));
  stream.fail(2, std::make_exception_ptr(1));
  stream.fail(3, std::make_exception_ptr(2));
  CHECK(stream.failed_batch() == 2);
  CHECK_FALSE(stream.is_over_from(1));
  CHECK(stream.is_over_from(2));
  stream.fail(1, std::make_exception_ptr(3));
  CHECK_THROWS_AS(std::rethrow_exception(stream.error()), int);
  CHECK(stream.is_over_from(1));
  CHECK_FALSE(stream.is_over_from(0));
  stream.is_stopped = true;
  CHECK(stream.is_over_from(0));
}
