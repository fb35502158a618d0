// SPDX-License-Identifier: Apache-2.0
#include "base/pinned_memory.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/large_memory.h"
#include "base/topology.h"

namespace dts {
namespace {

// What is locked must share no page with anything else: pieces of this size are mapped singly.
constexpr std::size_t kLeastBytes = std::size_t{4} << 20;

}  // namespace

std::byte* OrdinaryMemory::allocate(std::size_t bytes) { return new_large(bytes); }

void OrdinaryMemory::release(std::byte* data, std::size_t bytes) noexcept {
  delete_large(data, bytes);
}

PageLockError::PageLockError(std::size_t bytes, int code)
    : text_("the driver can't page-lock " + std::to_string(bytes) +
            " bytes for a batch (its error " + std::to_string(code) +
            "); use smaller batches or a smaller prefetch_factor") {}

PinnedCalls system_calls() {
  PinnedCalls calls;
  calls.bind_thread = [](const std::vector<int>& cpus) { return bind_this_thread(cpus); };
  calls.prefer_node = [](int node) { return prefer_memory_of_node(node); };
  calls.allocate = [](std::size_t bytes) { return new_large(std::max(bytes, kLeastBytes)); };
  calls.release = [](std::byte* data, std::size_t bytes) {
    delete_large(data, std::max(bytes, kLeastBytes));
  };
  return calls;
}

PinnedMemory::PinnedMemory(std::optional<int> maybe_node, std::vector<int> cpus, PinnedCalls calls)
    : maybe_node_(maybe_node), cpus_(std::move(cpus)), calls_(std::move(calls)) {}

PinnedMemory::~PinnedMemory() {
  if (!home_.is_here()) {
    thread_.detach();  // it is the parent's
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

std::byte* PinnedMemory::allocate(std::size_t bytes) {
  if (!home_.is_here()) {
    throw InvalidArgument("page-locked memory of another process can't be used after a fork");
  }
  std::byte* data = nullptr;
  on_thread(std::packaged_task<void()>([&] { data = make(bytes); }));
  return data;
}

void PinnedMemory::release(std::byte* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  if (!home_.is_here()) {
    // Locked by the parent's driver, which is not to be asked here.
    calls_.release(data, bytes);
    return;
  }
  try {
    on_thread(std::packaged_task<void()>([&] { calls_.unlock(data); }));
  } catch (...) {
    // Memory that stays locked must stay.
    return;
  }
  calls_.release(data, bytes);
}

std::byte* PinnedMemory::make(std::size_t bytes) {
  std::byte* const data = calls_.allocate(bytes);
  const int code = calls_.lock(data, bytes);
  if (code != 0) {
    calls_.release(data, bytes);
    throw PageLockError(bytes, code);
  }
  std::fill_n(data, bytes, std::byte{0});
  return data;
}

void PinnedMemory::on_thread(std::packaged_task<void()> task) {
  std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) {
      try {
        thread_ = std::thread([this] { run(); });
      } catch (const std::system_error& error) {
        throw InvalidArgument(std::string("the system lets us start no thread for page-locked "
                                          "memory (") +
                              error.what() + "); use fewer threads");
      }
    }
    tasks_.push_back(std::move(task));
    wake_.notify_all();
  }
  done.get();
}

void PinnedMemory::run() {
  name_this_thread("dts-pinned");
  if (maybe_node_) {
    if (!cpus_.empty()) calls_.bind_thread(cpus_);
    calls_.prefer_node(*maybe_node_);
  }
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return is_ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::packaged_task<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace dts
