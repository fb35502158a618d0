// SPDX-License-Identifier: Apache-2.0
// Memory for batches: ordinary, or page-locked and near a device, so that copies to it run by
// themselves and at full speed. What a driver has to do comes from outside as functions.
//
// Pages lie where the thread that first touches them is told to put them, and stay there once
// they are locked. So one thread for each device binds itself to the device's NUMA node,
// sets its memory policy, and only then makes, locks and zeroes memory for everybody.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/process.h"

namespace dts {

class BatchMemory {
 public:
  virtual ~BatchMemory() = default;
  // At least 256-byte aligned. std::bad_alloc: there is none. Thread-safe, both.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  // `bytes` as it was asked for. Also called in a forked child for what the parent made.
  virtual void release(std::byte* data, std::size_t bytes) noexcept = 0;
};

// As ordinary memory comes (base/large_memory.h).
class OrdinaryMemory : public BatchMemory {
 public:
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;
};

// The driver has no room for more locked pages.
class PageLockError : public std::bad_alloc {
 public:
  PageLockError(std::size_t bytes, int code);
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

// What is asked of the system and of the driver, all on the thread of the device.
struct PinnedCalls {
  std::function<bool(const std::vector<int>& cpus)> bind_thread;
  std::function<bool(int node)> prefer_node;
  std::function<std::byte*(std::size_t bytes)> allocate;
  std::function<void(std::byte* data, std::size_t bytes)> release;
  std::function<int(std::byte* data, std::size_t bytes)> lock;  // 0, or the driver's error
  std::function<void(std::byte* data)> unlock;
};

// Those of the system; lock and unlock are the caller's to fill in.
PinnedCalls system_calls();

class PinnedMemory : public BatchMemory {
 public:
  // `maybe_node`: where the memory is to be, absent: anywhere. `cpus`: of that node, those we may
  // use; none: the thread is not bound. Where the system refuses either, memory comes from
  // wherever it comes. The thread starts with the first call.
  PinnedMemory(std::optional<int> maybe_node, std::vector<int> cpus, PinnedCalls calls);
  ~PinnedMemory() override;
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  // Zeroed. PageLockError: it can't be locked. InvalidArgument: no thread can be started, or
  // this is a fork of the process that made the object.
  std::byte* allocate(std::size_t bytes) override;
  void release(std::byte* data, std::size_t bytes) noexcept override;

 private:
  void on_thread(std::packaged_task<void()> task);
  void run();
  std::byte* make(std::size_t bytes);

  const std::optional<int> maybe_node_;
  const std::vector<int> cpus_;
  const PinnedCalls calls_;
  const ProcessMark home_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace dts
