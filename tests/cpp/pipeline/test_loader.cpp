// SPDX-License-Identifier: Apache-2.0
// Batches of the loader, by any number of workers and for any way to cut the stream.
#include "pipeline/loader.h"

#include <string>

#include "fake_source.h"
#include "pipeline/loader_set.h"

using namespace dts::testing;

// Slots are checked against a runner of the test's own: two workers in one slot, a sample
// that is done twice or not at all, or bytes of a released unit would show.
TEST_CASE("every sample is delivered once, in its slot, for any cut, workers and read-ahead") {
  std::mt19937 random(1);
  auto set = std::make_shared<PixelSet>(300);
  set->foreign = {3, 77, 78, 290};
  set->missing = {11, 200};
  for (const int num_workers : {0, 1, 2, 8}) {
    for (const bool reproducible : {true, false}) {
      for (const int prefetch : {1, 2, 5}) {
        dts::Loader loader(set, flip_plan(), options_of(num_workers, prefetch, reproducible));
        for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
          const auto stream = random_stream(1 + static_cast<std::int64_t>(random()) % 900, 300,
                                            1 + static_cast<std::int64_t>(random()) % 90,
                                            1 + static_cast<std::int64_t>(random()) % 60, random);
          const std::uint64_t seed = random();
          BatchChecker checker(*set, stream, seed, epoch);
          loader.start(nullptr, seed, epoch);
          append_all(loader, stream);
          dts::Batch batch;
          while (next_batch(loader, batch) == dts::NextState::kBatch) checker.check(batch);
          CHECK(checker.is_at_end());
          CHECK(loader.next(0, batch) == dts::NextState::kEnd);
        }
      }
    }
  }
}

TEST_CASE("a stream can be appended in pieces, batches across them") {
  auto set = std::make_shared<PixelSet>(100);
  for (const int num_workers : {0, 2}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers));
    const auto stream = plain_stream(100, 100, 10, 25);
    BatchChecker checker(*set, stream, 9, 3);
    loader.start(nullptr, 9, 3);
    dts::Batch batch;
    CHECK(loader.next(1, batch) == dts::NextState::kTimeout);
    auto units = units_of(stream);
    for (std::size_t i = 0; i < units.size(); ++i) {
      // Batch 0 is announced before, batches 2 and 3 behind their samples.
      std::vector<std::int64_t> sizes;
      if (i == 0) sizes = {25};
      if (i == 6) sizes = {25};
      if (i == 9) sizes = {25, 25};
      loader.append({units[i]}, {}, sizes);
      if (i == 1) CHECK(loader.next(1, batch) == dts::NextState::kTimeout);
      if (i == 2) {
        REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
        checker.check(batch);
        CHECK(loader.next(1, batch) == dts::NextState::kTimeout);
      }
    }
    loader.finish();
    while (next_batch(loader, batch) == dts::NextState::kBatch) checker.check(batch);
    CHECK(checker.is_at_end());
  }
}

TEST_CASE("an empty stream ends at once") {
  dts::Loader loader(std::make_shared<PixelSet>(1), flip_plan(), options_of(2));
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    loader.start(nullptr, 0, epoch);
    loader.finish();
    dts::Batch batch;
    CHECK(loader.next(0, batch) == dts::NextState::kEnd);
    CHECK(loader.next(0, batch) == dts::NextState::kEnd);
  }
}

TEST_CASE("blocks are kept once the first batch is done, and all of them by the end") {
  for (const int num_workers : {0, 1}) {
    const auto source = std::make_shared<FakeSource>(std::vector<std::int64_t>(20, 10));
    source->kept_in = dts::make_private_store(20, FakeSource::kBlockBytes);
    std::atomic<const dts::Loader*> watched = nullptr;
    std::atomic<int> num_early = 0;
    source->on_block = [&](std::int64_t) {
      if (watched.load()->stats().num_samples < 24) ++num_early;
    };
    {
      dts::Loader loader(source, flip_plan(), options_of(num_workers));
      watched = &loader;
      loader.start(nullptr, 1, 0);
      append_all(loader, plain_stream(200, 200, 10, 24));
      dts::Batch batch;
      int num_batches = 0;
      while (next_batch(loader, batch) == dts::NextState::kBatch) ++num_batches;
      CHECK(num_batches == 9);
    }
    CHECK(num_early == 0);
    CHECK(source->kept_in->is_complete());
  }
}

TEST_CASE("another plan begins with the next stream") {
  auto set = std::make_shared<PixelSet>(20);
  dts::Loader loader(set, flip_plan(), options_of(2));
  const auto small = std::make_shared<const dts::ViewPlans>(
      dts::parse_view_plans("source channels=3 max_pixels=0 pass_order=2\n"
                            "center_crop height=2 width=2\n"
                            "output height=2 width=2 channels=3 dtype=1 layout=1 scale=0\n"));
  dts::Batch batch;
  for (const auto& [plan, image_bytes] :
       {std::pair{small, 48}, std::pair{flip_plan(), 48}, std::pair{small, 48}}) {
    loader.start(plan, 0, 0);
    append_all(loader, plain_stream(20, 20, 20, 20));
    REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
    CHECK(batch.zone->image_bytes() == image_bytes);
  }
}

TEST_CASE("wrong arguments and calls out of order") {
  auto set = std::make_shared<PixelSet>(10);
  CHECK_THROWS_WITH_AS(dts::Loader(set, flip_plan(), options_of(-1)),
                       "num_workers is -1, expected 0 to 4096", dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::Loader(set, flip_plan(), options_of(1, 0)),
                       "prefetch_batches is 0, expected at least 1", dts::InvalidArgument);
  dts::Loader loader(set, flip_plan(), options_of(1));
  dts::Batch batch;
  const std::string no_stream = "there is no stream; start() begins one";
  check_message<dts::InvalidArgument>([&] { loader.next(0, batch); }, no_stream);
  check_message<dts::InvalidArgument>([&] { loader.finish(); }, no_stream);
  check_message<dts::InvalidArgument>([&] { loader.append({}, {}, {}); }, no_stream);
  loader.stop();
  loader.start(nullptr, 0, 0);
  check_message<dts::OutOfRange>([&] { loader.append({{{10}, {}}}, {}, {}); },
                                 "sample 10 is not among the 10 of the source");
  check_message<dts::OutOfRange>([&] { loader.append({{{1}, {0}}}, {}, {}); },
                                 "block 0 is not among the 0 of the source");
  check_message<dts::InvalidArgument>([&] { loader.append({{{}, {}}}, {}, {}); },
                                      "unit 0 has no samples, expected at least one");
  const std::vector<std::int64_t> two{0, 0};
  check_message<dts::InvalidArgument>(
      [&] { loader.append({{{1}, {}}}, two, {}); },
      "there are 2 occurrences for 1 samples, expected as many, or none");
  const std::vector<std::int64_t> none{0};
  check_message<dts::InvalidArgument>([&] { loader.append({}, {}, none); },
                                      "a batch size is 0, expected 1 to 2^40");
  loader.append({{{1, 2}, {}}}, {}, {});
  check_message<dts::InvalidArgument>([&] { loader.finish(); },
                                      "the stream's units hold 2 samples, its batches 0; they "
                                      "must be equal at its end");
  const std::vector<std::int64_t> size{2};
  loader.append({}, {}, size);
  loader.finish();
  check_message<dts::InvalidArgument>([&] { loader.append({}, {}, {}); },
                                      "the stream is finished, nothing can be appended");
  CHECK(next_batch(loader, batch) == dts::NextState::kBatch);
}
