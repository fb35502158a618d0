// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transfer_station.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "support.h"

using namespace dts::testing;

namespace {

std::uintptr_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

TEST_CASE("labels, indices, images and guard lie behind one another, images at 256") {
  const auto station = dts::TransferStation::make();
  for (const auto& [batch, bytes] : {std::pair{1, 1}, {7, 12}, {16, 100}, {33, 0}, {256, 588}}) {
    const auto zone = station->acquire({batch, bytes});
    CHECK(zone->batch_size() == batch);
    CHECK(zone->image_bytes() == bytes);
    CHECK(address(zone->labels()) % 256 == 0);
    CHECK(zone->indices() == zone->labels() + batch);
    CHECK(address(zone->images()) % 256 == 0);
    CHECK(address(zone->images()) >= address(zone->indices() + batch));
    std::memset(zone->labels(), 1, static_cast<std::size_t>(batch) * 16);
    std::memset(zone->images(), 2, static_cast<std::size_t>(batch * bytes));
    CHECK(zone->guard_is_whole());
    zone->images()[batch * bytes] ^= std::byte{1};
    CHECK_FALSE(zone->guard_is_whole());
  }
}

TEST_CASE("a zone is used again when nobody holds it, not before") {
  const auto station = dts::TransferStation::make();
  auto first = station->acquire({4, 100});
  const auto* const memory = first->images();
  auto second = station->acquire({4, 100});
  CHECK(second->images() != memory);
  auto copy = first;
  first.reset();
  CHECK(station->acquire({4, 100})->images() != memory);
  CHECK(station->num_held() == 2);
  CHECK(station->num_free() == 1);
  second.reset();
  copy.reset();
  CHECK(station->num_held() == 0);
  CHECK(station->num_free() == 3);
  // A smaller batch (the last one) fits into the same memory, with its own guard.
  first = station->acquire({3, 100});
  CHECK(station->num_free() == 2);
  CHECK(first->guard_is_whole());
}

TEST_CASE("the free zone that fits best is taken; those too small for today go") {
  const auto station = dts::TransferStation::make();
  auto small = station->acquire({4, 100});
  auto large = station->acquire({4, 1000});
  const auto* const small_memory = small->images();
  small.reset();
  large.reset();
  small = station->acquire({4, 100});
  CHECK(small->images() == small_memory);
  small.reset();
  const std::size_t before = station->held_bytes();
  auto larger = station->acquire({4, 2000});
  CHECK(station->num_free() == 0);
  CHECK(station->held_bytes() > 8000);
  CHECK(station->held_bytes() < before + 8000);
  larger.reset();
  station->trim();
  CHECK(station->num_free() == 0);
  CHECK(station->held_bytes() == 0);
}

TEST_CASE("no more free zones are kept than asked for") {
  const auto station = dts::TransferStation::make(2);
  std::vector<std::shared_ptr<dts::Zone>> zones;
  for (int i = 0; i < 6; ++i) zones.push_back(station->acquire({4, 100}));
  const std::size_t all = station->held_bytes();
  zones.clear();
  CHECK(station->num_free() == 2);
  CHECK(station->held_bytes() * 3 == all);
}

TEST_CASE("zones outlive the station's maker and each other") {
  std::shared_ptr<dts::Zone> zone;
  {
    const auto station = dts::TransferStation::make();
    auto other = station->acquire({2, 8});
    zone = station->acquire({2, 8});
  }
  zone->images()[15] = std::byte{1};
  CHECK(zone->guard_is_whole());
}

TEST_CASE("whoever listens hears of each zone that has become free") {
  const auto station = dts::TransferStation::make();
  int calls = 0;
  bool can_acquire = false;
  station->on_free([&] {
    ++calls;
    can_acquire = station->num_free() == 1;
    if (calls == 2) throw std::runtime_error("lost");
  });
  for (int i = 0; i < 3; ++i) station->acquire({2, 8});
  CHECK(calls == 3);
  CHECK(can_acquire);
  station->on_free(nullptr);
  station->acquire({2, 8});
  CHECK(calls == 3);
}

TEST_CASE("sizes that no memory has") {
  const auto station = dts::TransferStation::make();
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  check_message<dts::InvalidArgument>([&] { station->acquire({0, 8}); },
                                      "a batch of 0 images of 8 bytes each can't be made: expected "
                                      "at least one image and a size that memory can have");
  for (const dts::ZoneLayout& layout : {dts::ZoneLayout{1, -1},
                                        {kHuge, 0},
                                        {kHuge, kHuge},
                                        {std::int64_t{1} << 31, std::int64_t{1} << 31}}) {
    thrown<dts::InvalidArgument>([&] { station->acquire(layout); });
  }
  CHECK(station->num_held() == 0);
  CHECK(station->held_bytes() == 0);
}

TEST_CASE("threads take and give back zones, each alone in its own") {
  const auto station = dts::TransferStation::make();
  std::vector<std::thread> threads;
  std::atomic<int> num_wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      std::vector<std::shared_ptr<dts::Zone>> held;
      for (int i = 0; i < 500; ++i) {
        held.push_back(station->acquire({3, 65 + static_cast<int>(random() % 64)}));
        held.back()->labels()[0] = t;
        if (held.size() > 3) {
          std::swap(held[random() % held.size()], held.back());
          if (held.back()->labels()[0] != t || !held.back()->guard_is_whole()) ++num_wrong;
          held.pop_back();
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(num_wrong == 0);
  CHECK(station->num_held() == 0);
}

TEST_CASE("in a forked child zones go without a lock and without being heard of") {
  const auto station = dts::TransferStation::make();
  int calls = 0;
  station->on_free([&] { ++calls; });
  auto zone = station->acquire({2, 8});
  const pid_t child = ::fork();
  if (child == 0) {
    zone.reset();
    ::_exit(calls == 0 && station->num_held() == 1 ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  zone.reset();
  CHECK(calls == 1);
}

TEST_CASE("boxes of each view lie between indices and images") {
  const auto station = dts::TransferStation::make();
  const auto zone = station->acquire({5, 48, 3, 3});
  CHECK(zone->num_boxes() == 3);
  CHECK(zone->boxes(0) == zone->indices() + 5);
  CHECK(zone->boxes(2) == zone->boxes(0) + 2 * 4 * 5);
  CHECK(address(zone->images()) >= address(zone->boxes(2) + 4 * 5));
  CHECK(zone->memory() == reinterpret_cast<std::byte*>(zone->labels()));
  CHECK(zone->memory() + zone->images_offset() == zone->images());
  std::memset(zone->memory(), 3, zone->memory_bytes());
  CHECK(zone->guard_is_whole());
  CHECK_THROWS_AS(station->acquire({5, 48, 1, 2}), dts::InvalidArgument);
  CHECK_THROWS_AS(station->acquire({5, 48, 1, -1}), dts::InvalidArgument);
}

namespace {

// Counts what is out.
class CountedMemory : public dts::BatchMemory {
 public:
  std::byte* allocate(std::size_t bytes) override {
    ++num_out;
    return ordinary_.allocate(bytes);
  }
  void release(std::byte* data, std::size_t bytes) noexcept override {
    --num_out;
    ordinary_.release(data, bytes);
  }
  int num_out = 0;

 private:
  dts::OrdinaryMemory ordinary_;
};

}  // namespace

TEST_CASE("zones come from the memory that the station was given, and go back to it") {
  const auto memory = std::make_shared<CountedMemory>();
  auto station = dts::TransferStation::make(1, memory);
  auto first = station->acquire({4, 100});
  auto second = station->acquire({4, 100});
  CHECK(memory->num_out == 2);
  first.reset();
  second.reset();
  CHECK(memory->num_out == 1);
  CHECK(station->acquire({4, 100}) != nullptr);
  CHECK(memory->num_out == 1);
  station.reset();
  CHECK(memory->num_out == 0);
}
