// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <thread>

#include "base/topology.h"

namespace dts {

#ifdef __linux__

namespace {

// A mask of any size: the kernel refuses one smaller than its own.
class CpuMask {
 public:
  explicit CpuMask(int size) : size_(size), bits_(words(size)) {}
  std::size_t bytes() const { return bits_.size() * sizeof(cpu_set_t); }
  cpu_set_t* get() { return bits_.data(); }
  int size() const { return size_; }

 private:
  static std::size_t words(int size) {
    return static_cast<std::size_t>((size + CPU_SETSIZE - 1) / CPU_SETSIZE);
  }
  int size_;
  std::vector<cpu_set_t> bits_;
};

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  for (int size = CPU_SETSIZE; size <= 64 * CPU_SETSIZE; size *= 2) {
    CpuMask mask(size);
    // Of the process, not of the calling thread, which somebody may have bound.
    if (::sched_getaffinity(::getpid(), mask.bytes(), mask.get()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    for (int cpu = 0; cpu < size; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), mask.bytes(), mask.get())) {
        cpus.push_back(cpu);
      }
    }
    break;
  }
  if (cpus.empty()) {
    cpus.resize(std::max(1U, std::thread::hardware_concurrency()));
    std::iota(cpus.begin(), cpus.end(), 0);
  }
  return cpus;
}

bool bind_this_thread(int cpu) { return bind_this_thread(std::vector<int>{cpu}); }

bool bind_this_thread(const std::vector<int>& cpus) {
  if (cpus.empty() || *std::min_element(cpus.begin(), cpus.end()) < 0) return false;
  CpuMask mask(*std::max_element(cpus.begin(), cpus.end()) + 1);
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), mask.bytes(), mask.get());
  return ::pthread_setaffinity_np(::pthread_self(), mask.bytes(), mask.get()) == 0;
}

bool prefer_memory_of_node(int node) {
#ifdef SYS_set_mempolicy
  constexpr int kPreferred = 1;  // MPOL_PREFERRED; other nodes where this one is full
  constexpr int kWordBits = 8 * sizeof(unsigned long);
  constexpr int kMaxNodes = 1024;  // no kernel is built for more
  if (node < 0 || node >= kMaxNodes) return false;
  unsigned long nodes[kMaxNodes / kWordBits] = {};
  nodes[node / kWordBits] = 1UL << (node % kWordBits);
  // The kernel takes one bit less than it is told.
  return ::syscall(SYS_set_mempolicy, kPreferred, nodes, kMaxNodes + 1UL) == 0;
#else
  static_cast<void>(node);
  return false;
#endif
}

void name_this_thread(const std::string& name) {
  ::pthread_setname_np(::pthread_self(), name.substr(0, 15).c_str());
}

#else

std::vector<int> allowed_cpus() {
  std::vector<int> cpus(std::max(1U, std::thread::hardware_concurrency()));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

bool bind_this_thread(int) { return false; }

bool bind_this_thread(const std::vector<int>&) { return false; }

bool prefer_memory_of_node(int) { return false; }

void name_this_thread(const std::string& name) {
#ifdef __APPLE__
  ::pthread_setname_np(name.substr(0, 15).c_str());
#else
  static_cast<void>(name);
#endif
}

#endif

}  // namespace dts
