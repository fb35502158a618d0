// SPDX-License-Identifier: Apache-2.0
#include "base/pinned_memory.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/topology.h"
#include "support.h"

namespace {

using Log = std::vector<std::string>;

// Writes down what is asked of the system and of the driver, in order, and by which thread.
struct FakeSystem {
  Log log;
  std::vector<std::thread::id> threads;
  bool allows = true;
  int lock_error = 0;
  dts::testing::Bytes memory;
  bool was_zero_when_locked = true;

  dts::PinnedCalls calls() {
    dts::PinnedCalls calls;
    calls.bind_thread = [this](const std::vector<int>& cpus) {
      std::string text = "bind";
      for (const int cpu : cpus) text += " " + std::to_string(cpu);
      note(text);
      return allows;
    };
    calls.prefer_node = [this](int node) {
      note("prefer " + std::to_string(node));
      return allows;
    };
    calls.allocate = [this](std::size_t bytes) {
      note("allocate " + std::to_string(bytes));
      memory.assign(bytes, std::byte{7});
      return memory.data();
    };
    calls.release = [this](std::byte*, std::size_t bytes) {
      note("release " + std::to_string(bytes));
    };
    calls.lock = [this](std::byte* data, std::size_t bytes) {
      note("lock " + std::to_string(bytes));
      was_zero_when_locked = data[0] == std::byte{0};
      return lock_error;
    };
    calls.unlock = [this](std::byte*) { note("unlock"); };
    return calls;
  }

 private:
  void note(const std::string& text) {
    log.push_back(text);
    threads.push_back(std::this_thread::get_id());
  }
};

}  // namespace

TEST_CASE("a thread is bound and its memory placed before anything is locked, zeroes come last") {
  FakeSystem system;
  {
    dts::PinnedMemory memory(1, {4, 5}, system.calls());
    std::byte* const data = memory.allocate(100);
    CHECK(system.log == Log{"bind 4 5", "prefer 1", "allocate 100", "lock 100"});
    CHECK_FALSE(system.was_zero_when_locked);
    CHECK(std::all_of(data, data + 100, [](std::byte b) { return b == std::byte{0}; }));
    memory.release(data, 100);
    memory.release(memory.allocate(7), 7);
  }
  CHECK(system.log == Log{"bind 4 5", "prefer 1", "allocate 100", "lock 100", "unlock",
                          "release 100", "allocate 7", "lock 7", "unlock", "release 7"});
  // All but giving back is done by one thread, which is not ours.
  for (const std::size_t i : {0, 1, 2, 3, 4, 6, 7, 8})
    CHECK(system.threads[i] == system.threads[0]);
  CHECK(system.threads[0] != std::this_thread::get_id());
}

TEST_CASE("without a node nothing is bound") {
  FakeSystem system;
  dts::PinnedMemory memory(std::nullopt, {}, system.calls());
  memory.release(memory.allocate(3), 3);
  CHECK(system.log == Log{"allocate 3", "lock 3", "unlock", "release 3"});
}

TEST_CASE("a node without CPUs of ours only places the memory") {
  FakeSystem system;
  dts::PinnedMemory memory(2, {}, system.calls());
  memory.allocate(3);
  CHECK(system.log == Log{"prefer 2", "allocate 3", "lock 3"});
}

TEST_CASE("where the system refuses to place memory it comes from anywhere") {
  FakeSystem system;
  system.allows = false;
  dts::PinnedMemory memory(0, {1}, system.calls());
  CHECK(memory.allocate(5) != nullptr);
  CHECK(system.log == Log{"bind 1", "prefer 0", "allocate 5", "lock 5"});
}

TEST_CASE("memory that can't be locked is given back and said") {
  FakeSystem system;
  system.lock_error = 2;
  dts::PinnedMemory memory(std::nullopt, {}, system.calls());
  std::string text;
  try {
    memory.allocate(4096);
  } catch (const std::bad_alloc& error) {
    text = error.what();
  }
  CHECK(text.find("can't page-lock 4096 bytes for a batch (its error 2)") != std::string::npos);
  CHECK(system.log == Log{"allocate 4096", "lock 4096", "release 4096"});
  system.lock_error = 0;
  CHECK(memory.allocate(8) != nullptr);
}

TEST_CASE("many threads share the one of the device") {
  FakeSystem system;
  dts::PinnedCalls calls = system.calls();
  calls.allocate = [](std::size_t bytes) { return new std::byte[bytes]; };
  calls.release = [](std::byte* data, std::size_t) { delete[] data; };
  calls.lock = [](std::byte*, std::size_t) { return 0; };
  calls.unlock = [](std::byte*) {};
  dts::PinnedMemory memory(std::nullopt, {}, calls);
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) {
    threads.emplace_back([&memory, i] {
      for (int turn = 0; turn < 50; ++turn) {
        const auto bytes = static_cast<std::size_t>(i * 10 + turn);
        std::byte* const data = memory.allocate(bytes);
        std::fill_n(data, bytes, std::byte{1});
        memory.release(data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("the system's own calls make memory") {
  dts::PinnedCalls calls = dts::system_calls();
  calls.lock = [](std::byte*, std::size_t) { return 0; };
  calls.unlock = [](std::byte*) {};
  dts::PinnedMemory memory(std::nullopt, {}, calls);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5} << 20}) {
    std::byte* const data = memory.allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(data) % 256 == 0);
    data[bytes - 1] = std::byte{1};
    memory.release(data, bytes);
  }
}

TEST_CASE("from a device's place in the machine to where its memory lies") {
  const dts::testing::TempDir sysfs;
  const auto write = [&](const std::string& folder, const std::string& name,
                         const std::string& text) {
    std::filesystem::create_directories(sysfs / folder);
    dts::testing::patch(sysfs / (folder + "/" + name), 0, dts::testing::bytes_of(text + "\n"));
  };
  write("devices/system/node", "online", "0-1");
  write("devices/system/node/node0", "cpulist", "0-1");
  write("devices/system/node/node1", "cpulist", "2-3");
  write("bus/pci/devices/0000:3b:00.0", "numa_node", "1");
  for (const auto& [allowed, bound] :
       {std::pair<std::vector<int>, std::string>{{0, 1, 2, 3}, "bind 2 3"}, {{1, 3}, "bind 3"}}) {
    FakeSystem system;
    const auto node = dts::numa_node_of_pci("0000:3B:00.0", sysfs.path());
    REQUIRE(node);
    dts::PinnedMemory memory(node, dts::cpus_of_node(allowed, *node, sysfs.path()), system.calls());
    memory.allocate(10);
    CHECK(system.log == Log{bound, "prefer 1", "allocate 10", "lock 10"});
  }
}
