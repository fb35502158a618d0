// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/topology.h"
#include "support.h"

TEST_CASE("the process may run somewhere, and on no CPU twice") {
  const auto cpus = dts::allowed_cpus();
  REQUIRE_FALSE(cpus.empty());
  CHECK(std::is_sorted(cpus.begin(), cpus.end()));
  CHECK(std::set<int>(cpus.begin(), cpus.end()).size() == cpus.size());
  CHECK(cpus.front() >= 0);
}

#ifdef __linux__

#include <pthread.h>
#include <sched.h>

TEST_CASE("a bound thread runs on its CPU alone, the process keeps all of its own") {
  const auto cpus = dts::allowed_cpus();
  for (const int cpu : cpus) {
    bool is_bound = false;
    bool is_alone = false;
    int runs_on = -1;
    std::thread([&] {
      is_bound = dts::bind_this_thread(cpu);
      cpu_set_t mask;
      CPU_ZERO(&mask);
      ::pthread_getaffinity_np(::pthread_self(), sizeof(mask), &mask);
      is_alone = CPU_COUNT(&mask) == 1;
      runs_on = ::sched_getcpu();
    }).join();
    CHECK(is_bound);
    CHECK(is_alone);
    CHECK(runs_on == cpu);
  }
  CHECK(dts::allowed_cpus() == cpus);
}

TEST_CASE("a CPU that is not there changes nothing") {
  bool was_bound = true;
  std::thread([&] {
    was_bound = dts::bind_this_thread(60000) || dts::bind_this_thread(-1);
  }).join();
  CHECK_FALSE(was_bound);
}

TEST_CASE("a thread bound to several CPUs may run on each of them") {
  const auto cpus = dts::allowed_cpus();
  bool is_bound = false;
  int count = 0;
  std::thread([&] {
    is_bound = dts::bind_this_thread(cpus);
    cpu_set_t mask;
    CPU_ZERO(&mask);
    ::pthread_getaffinity_np(::pthread_self(), sizeof(mask), &mask);
    count = CPU_COUNT(&mask);
  }).join();
  CHECK(is_bound);
  CHECK(count == static_cast<int>(cpus.size()));
  CHECK_FALSE(dts::bind_this_thread(std::vector<int>{}));
  CHECK_FALSE(dts::bind_this_thread(std::vector<int>{0, -1}));
}

TEST_CASE("a node that no machine has can't be preferred") {
  bool is_preferred = true;
  std::thread([&] {
    is_preferred = dts::prefer_memory_of_node(-1) || dts::prefer_memory_of_node(1 << 20);
    static_cast<void>(dts::prefer_memory_of_node(0));  // a container may forbid it
  }).join();
  CHECK_FALSE(is_preferred);
}

TEST_CASE("names of threads are cut to what the system takes") {
  char name[64] = {};
  std::thread([&] {
    dts::name_this_thread("a-name-that-is-too-long");
    ::pthread_getname_np(::pthread_self(), name, sizeof(name));
  }).join();
  CHECK(std::string(name) == "a-name-that-is-");
}

#endif
