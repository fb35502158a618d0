// SPDX-License-Identifier: Apache-2.0
// Which batches are open: how much memory a loader takes, and whose it is.
#include "pipeline/loader_shared.h"

#include <atomic>
#include <new>

#include "pipeline/loader_set.h"

using namespace dts::testing;

TEST_CASE("batches that somebody keeps are never written to again") {
  std::mt19937 random(2);
  auto set = std::make_shared<PixelSet>(64);
  for (const int num_workers : {0, 3}) {
    dts::Loader loader(set, flip_plan(), options_of(num_workers));
    std::vector<dts::Batch> kept;
    const auto stream = plain_stream(40 * 16, 64, 30, 16);
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      loader.start(nullptr, 5, epoch);
      append_all(loader, stream);
      dts::Batch batch;
      while (next_batch(loader, batch) == dts::NextState::kBatch) kept.push_back(batch);
    }
    REQUIRE(kept.size() == 80);
    for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
      BatchChecker checker(*set, stream, 5, epoch);
      for (std::size_t i = 0; i < 40; ++i) checker.check(kept[epoch * 40 + i]);
    }
    std::shuffle(kept.begin(), kept.end(), random);
    kept.resize(40);
    CHECK(loader.station().num_held() == 40);
  }
}

TEST_CASE("a plain loop needs one zone more than are read ahead") {
  auto set = std::make_shared<PixelSet>(64);
  for (const int prefetch : {1, 2, 5}) {
    dts::Loader loader(set, flip_plan(), options_of(2, prefetch));
    int most = 0;
    for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
      loader.start(nullptr, 5, epoch);
      append_all(loader, plain_stream(50 * 16, 64, 30, 16));
      dts::Batch batch;
      while (next_batch(loader, batch) == dts::NextState::kBatch) {
        most = std::max(most, loader.station().num_held() + loader.station().num_free());
        if (batch.number % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    CHECK(most == prefetch + 1);
  }
}

TEST_CASE("batches are opened up to the number to read ahead, also behind a kept one") {
  auto set = std::make_shared<PixelSet>(64);
  dts::Loader loader(set, flip_plan(), options_of(2, 3));
  const auto& station = loader.station();
  loader.start(nullptr, 0, 0);
  append_all(loader, plain_stream(20 * 4, 64, 30, 4));
  CHECK(station.num_held() == 3);
  dts::Batch first;
  REQUIRE(next_batch(loader, first) == dts::NextState::kBatch);
  CHECK(station.num_held() == 4);  // the delivered one and three more
  dts::Batch batch;
  REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
  CHECK(station.num_held() == 4);  // as long as the first one is held there is no room
  batch = {};
  CHECK(station.num_held() == 4);  // the next one took its place
  for (int i = 0; i < 18; ++i) REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
  CHECK(next_batch(loader, batch) == dts::NextState::kEnd);
  CHECK(station.num_held() == 2);
  CHECK(first.zone->guard_is_whole());
}

TEST_CASE("a batch that was kept over the start of a stream costs no read-ahead") {
  dts::Loader loader(std::make_shared<PixelSet>(64), flip_plan(), options_of(1, 2));
  dts::Batch kept;
  for (std::uint32_t epoch = 0; epoch < 3; ++epoch) {
    loader.start(nullptr, 0, epoch);
    append_all(loader, plain_stream(12, 64, 30, 4));
    CHECK(loader.station().num_held() == (epoch == 0 ? 2 : 3));
    dts::Batch batch;
    while (next_batch(loader, batch) == dts::NextState::kBatch) kept = batch;
  }
}

TEST_CASE("a stopped stream gives its memory back") {
  dts::Loader loader(std::make_shared<PixelSet>(64), flip_plan(), options_of(2, 2));
  loader.start(nullptr, 0, 0);
  append_all(loader, plain_stream(40, 64, 30, 4));
  CHECK(loader.station().num_held() == 2);
  loader.stop();
  CHECK(loader.station().num_held() == 0);
  CHECK(loader.station().num_free() == 2);
}

TEST_CASE("batches outlive their loader") {
  auto set = std::make_shared<PixelSet>(30);
  const auto stream = plain_stream(30, 30, 10, 10);
  std::vector<dts::Batch> kept(3);
  {
    dts::Loader loader(set, flip_plan(), options_of(2));
    loader.start(nullptr, 3, 1);
    append_all(loader, stream);
    for (auto& batch : kept) REQUIRE(next_batch(loader, batch) == dts::NextState::kBatch);
  }
  BatchChecker checker(*set, stream, 3, 1);
  for (const auto& batch : kept) checker.check(batch);
}

namespace {

// Has room for so many zones.
class FewZones : public dts::BatchMemory {
 public:
  explicit FewZones(int num_zones) : num_left_(num_zones) {}
  std::byte* allocate(std::size_t bytes) override {
    if (num_left_.fetch_sub(1) <= 0) {
      num_left_.fetch_add(1);
      throw std::bad_alloc();
    }
    return ordinary_.allocate(bytes);
  }
  void release(std::byte* data, std::size_t bytes) noexcept override {
    ordinary_.release(data, bytes);
    num_left_.fetch_add(1);
  }

 private:
  std::atomic<int> num_left_;
  dts::OrdinaryMemory ordinary_;
};

}  // namespace

TEST_CASE("where there is no memory to read ahead batches come one after the other") {
  auto set = std::make_shared<PixelSet>(40);
  for (const auto form :
       {dts::SampleForm::kImages, dts::SampleForm::kOutlines, dts::SampleForm::kBytes}) {
    dts::LoaderOptions options = options_of(1, 4);
    options.batch_memory = std::make_shared<FewZones>(2);
    options.form = form;
    dts::Loader loader(set, flip_plan(), options);
    const auto stream = plain_stream(40, 40, 20, 8);
    loader.start(nullptr, 4, 0);
    append_all(loader, stream);
    dts::Batch batch;
    int num_batches = 0;
    while (next_batch(loader, batch) == dts::NextState::kBatch) {
      ++num_batches;
      static_cast<void>(loader.take_foreign());
    }
    CHECK(num_batches == 5);
  }
}
