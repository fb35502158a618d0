// SPDX-License-Identifier: Apache-2.0
// Streams that end early, fail, or are left behind; many threads at once; other processes.
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/topology.h"
#include "pipeline/loader.h"
#include "pipeline/loader_set.h"

using namespace dts::testing;

namespace {

constexpr const char* kForeignProcess =
    "this loader belongs to another process: its threads don't exist after a fork; make a new "
    "loader in this process";

std::size_t num_threads_now() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// Batches until the stream ends or throws; then what it threw.
std::string error_of(dts::Loader& loader, BatchChecker& checker) {
  dts::Batch batch;
  try {
    while (next_batch(loader, batch) == dts::NextState::kBatch) checker.check(batch);
  } catch (const dts::IoError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("streams that are stopped anywhere leave the next one whole") {
  std::mt19937 random(4);
  auto set = std::make_shared<PixelSet>(200);
  for (const int num_workers : {0, 1, 4}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers));
    const auto stream = plain_stream(200, 200, 16, 10);
    const int num_stops = num_workers == 0 ? 100 : 500;
    for (int i = 0; i < num_stops; ++i) {
      loader.start(nullptr, random(), 0);
      if (i % 7 != 0) loader.append(units_of(stream), {}, stream.batch_sizes);
      if (i % 3 != 0 && i % 7 != 0) loader.finish();
      dts::Batch batch;
      for (std::uint32_t n = random() % 6; n > 0; --n) loader.next(i % 2, batch);
      if (i % 2 != 0) loader.stop();
    }
    BatchChecker checker(*set, stream, 7, 2);
    loader.start(nullptr, 7, 2);
    append_all(loader, stream);
    CHECK(error_of(loader, checker).empty());
    CHECK(checker.is_at_end());
    loader.stop();
    loader.stop();
  }
}

TEST_CASE("a loader may go at any time and takes its threads along") {
  auto set = std::make_shared<PixelSet>(200);
  const std::size_t before = num_threads_now();
  for (int i = 0; i < 60; ++i) {
    dts::Loader loader(set, flip_plan(), options_of(3));
    CHECK(loader.num_threads() == 4);
    if (i % 5 == 0) continue;
    loader.start(nullptr, 0, 0);
    if (i % 5 == 1) continue;
    append_all(loader, plain_stream(200, 200, 16, 10));
    dts::Batch batch;
    if (i % 5 >= 3) REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
    if (i % 5 >= 4) loader.stop();
  }
  CHECK(num_threads_now() == before);
}

TEST_CASE("what reading threw comes in its batch's turn, again and again, until a new start") {
  std::mt19937 random(5);
  auto set = std::make_shared<PixelSet>(400);
  for (const int num_workers : {0, 1, 2, 8}) {
    for (const bool reproducible : {true, false}) {
      dts::Loader loader(set, flip_plan(), options_of(num_workers, 3, reproducible));
      for (int round = 0; round < 12; ++round) {
        auto stream = random_stream(400, 400, 50, 40, random);
        for (std::int64_t i = 0; i < 400; ++i) stream.samples[static_cast<std::size_t>(i)] = i;
        // Its unit fails as a whole: the first batch to fail is that of the unit's begin.
        const std::int64_t failing = static_cast<std::int64_t>(random()) % 400;
        std::int64_t unit_begin = 0;
        for (const std::int64_t size : stream.unit_sizes) {
          if (unit_begin + size > failing) break;
          unit_begin += size;
        }
        std::int64_t num_before = 0;
        for (std::int64_t end = 0; end + stream.batch_sizes[num_before] <= unit_begin;) {
          end += stream.batch_sizes[num_before++];
        }
        loader.stop();
        set->failing = {failing};
        BatchChecker checker(*set, stream, 1, 1);
        loader.start(nullptr, 1, 1);
        append_all(loader, stream);
        CHECK(error_of(loader, checker) == "reading");
        CHECK(checker.num_checked() == num_before);
        CHECK(error_of(loader, checker) == "reading");
        loader.stop();
        set->failing.clear();
        BatchChecker whole(*set, stream, 1, 1);
        loader.start(nullptr, 1, 1);
        append_all(loader, stream);
        CHECK(error_of(loader, whole).empty());
        CHECK(whole.is_at_end());
      }
    }
  }
}

TEST_CASE("errors of workers are the stream's, too") {
  struct BadLabels : PixelSet {
    using PixelSet::PixelSet;
    std::int64_t label(std::int64_t sample) const override {
      if (sample == 25) throw dts::CorruptFile("set", 3, "no label");
      return 1;
    }
  };
  auto set = std::make_shared<BadLabels>(40);
  for (const int num_workers : {0, 2}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers));
    loader.start(nullptr, 0, 0);
    append_all(loader, plain_stream(40, 40, 40, 10));
    dts::Batch batch;
    for (int i = 0; i < 2; ++i) CHECK(next_batch(loader, batch) == dts::NextState::kBatch);
    check_corrupt([&] { next_batch(loader, batch); }, 3, "no label");
  }
}

TEST_CASE("stop() in another thread ends a wait") {
  auto set = std::make_shared<PixelSet>(10);
  set->read_ms = 20;
  for (const int num_workers : {0, 2}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers));
    for (const bool is_appended : {false, true}) {
      loader.start(nullptr, 0, 0);
      if (is_appended) append_all(loader, plain_stream(10, 10, 10, 10));
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        loader.stop();
      });
      dts::Batch batch;
      CHECK(loader.next(100000, batch) == dts::NextState::kEnd);
      other.join();
    }
  }
}

TEST_CASE("next() comes back in time, with the work done so far kept") {
  auto set = std::make_shared<PixelSet>(30);
  set->read_ms = 15;
  for (const int num_workers : {0, 2}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers));
    const auto stream = plain_stream(30, 30, 10, 30);
    BatchChecker checker(*set, stream, 1, 1);
    loader.start(nullptr, 1, 1);
    append_all(loader, stream);
    dts::Batch batch;
    int num_timeouts = 0;
    while (loader.next(1, batch) == dts::NextState::kTimeout) ++num_timeouts;
    checker.check(batch);
    CHECK(num_timeouts > 5);
    CHECK(loader.stats().wait_for_data_ns > 0);
  }
}

TEST_CASE("two streams can't have one memory at a time") {
  auto set = std::make_shared<PixelSet>(10);
  auto options = options_of(1);
  options.feeder.buffers = std::make_shared<dts::ReadBuffers>();
  dts::Loader one(set, flip_plan(), options);
  dts::Loader two(set, flip_plan(), options);
  one.start(nullptr, 0, 0);
  thrown<dts::InvalidArgument>([&] { two.start(nullptr, 0, 0); });
  one.stop();
  two.start(nullptr, 0, 0);
  append_all(two, plain_stream(10, 10, 10, 10));
  dts::Batch batch;
  CHECK(next_batch(two, batch) == dts::NextState::kBatch);
}

TEST_CASE("a forked child has no loader, the parent's goes on") {
  auto set = std::make_shared<PixelSet>(200);
  const auto stream = plain_stream(200, 200, 16, 10);
  auto loader = std::make_unique<dts::Loader>(set, flip_plan(), options_of(2));
  BatchChecker checker(*set, stream, 0, 0);
  loader->start(nullptr, 0, 0);
  append_all(*loader, stream);
  dts::Batch batch;
  REQUIRE(next_batch(*loader, batch) == dts::NextState::kBatch);
  checker.check(batch);
  const pid_t child = ::fork();
  if (child == 0) {
    int num_refused = 0;
    const auto refused = [&](const auto& call) {
      try {
        call();
      } catch (const dts::InvalidArgument& error) {
        num_refused += std::string(error.what()) == kForeignProcess;
      }
    };
    refused([&] { loader->next(0, batch); });
    refused([&] { loader->stop(); });
    refused([&] { loader->start(nullptr, 0, 0); });
    refused([&] { loader->append({}, {}, {}); });
    refused([&] { loader->finish(); });
    refused([&] { loader->take_foreign(); });
    refused([&] { loader->stats(); });
    refused([&] { loader->num_units_waiting(); });
    batch = {};
    loader.reset();
    ::_exit(num_refused == 8 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(error_of(*loader, checker).empty());
  CHECK(checker.is_at_end());
}

TEST_CASE("pinned workers give the same batches") {
  auto set = std::make_shared<PixelSet>(100);
  auto options = options_of(3);
  const int cpu = dts::allowed_cpus().front();
  options.cpus = {cpu, cpu, cpu};
  dts::Loader loader(set, flip_plan(), options);
  const auto stream = plain_stream(100, 100, 30, 10);
  BatchChecker checker(*set, stream, 2, 2);
  loader.start(nullptr, 2, 2);
  append_all(loader, stream);
  CHECK(error_of(loader, checker).empty());
  CHECK(checker.is_at_end());
}

TEST_CASE("each worker has a CPU, or none has") {
  auto set = std::make_shared<PixelSet>(10);
  auto options = options_of(3);
  options.cpus = {0, 0};
  CHECK_THROWS_WITH_AS(dts::Loader(set, flip_plan(), options),
                       "there are 2 CPUs for 3 workers, expected as many, or none",
                       dts::InvalidArgument);
}

// Everything at once, for the sanitizers: readers, workers, a consumer that keeps, drops,
// waits and stops, batches that go in other threads.
TEST_CASE("stress") {
  std::mt19937 random(6);
  auto set = std::make_shared<PixelSet>(300);
  set->foreign = {5, 100};
  set->missing = {200};
  for (int round = 0; round < 12; ++round) {
    auto options = options_of(1 + static_cast<int>(random() % 8), 1 + round % 4, round % 2 == 0);
    options.feeder.reader_threads = 1 + round % 3;
    dts::Loader loader(set, flip_plan(), options);
    for (std::uint32_t epoch = 0; epoch < 5; ++epoch) {
      auto stream = random_stream(400, 300, 40, 30, random);
      loader.start(nullptr, 1, epoch);
      BatchChecker checker(*set, stream, 1, epoch);
      auto units = units_of(stream);
      loader.append(std::move(units), stream.occurrences, {});
      std::vector<dts::Batch> kept;
      std::vector<std::thread> droppers;
      const std::int64_t num_wanted = epoch % 2 == 0
                                          ? static_cast<std::int64_t>(stream.batch_sizes.size())
                                          : static_cast<std::int64_t>(random() % 10);
      std::size_t num_appended = 0;
      while (checker.num_checked() < num_wanted) {
        const std::size_t count =
            std::min<std::size_t>(random() % 8, stream.batch_sizes.size() - num_appended);
        loader.append({}, {}, std::span(stream.batch_sizes).subspan(num_appended, count));
        num_appended += count;
        dts::Batch batch;
        if (loader.next(static_cast<int>(random() % 3), batch) != dts::NextState::kBatch) continue;
        checker.check(batch);
        loader.stats();
        loader.take_foreign();
        if (random() % 4 == 0) {
          kept.push_back(batch);
        } else if (random() % 8 == 0) {
          droppers.emplace_back([held = std::move(batch)]() mutable { held = {}; });
        }
      }
      for (auto& thread : droppers) thread.join();
      for (const auto& batch : kept) CHECK(batch.zone->guard_is_whole());
    }
  }
}
