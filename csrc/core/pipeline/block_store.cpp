// SPDX-License-Identifier: Apache-2.0
#include "pipeline/block_store.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/large_memory.h"

namespace dts {
namespace {

class PrivateStore : public BlockStore {
 public:
  PrivateStore(std::int64_t num_blocks, std::int64_t block_bytes)
      : num_blocks_(num_blocks),
        block_bytes_(static_cast<std::size_t>(block_bytes)),
        blocks_(static_cast<std::size_t>(num_blocks)),
        is_loading_(static_cast<std::size_t>(num_blocks)),
        ready_(std::make_unique<std::atomic<const std::byte*>[]>(
            static_cast<std::size_t>(num_blocks))) {}

  ConstByteSpan find(std::int64_t block) override {
    const std::byte* data = ready_[checked(block)].load(std::memory_order_acquire);
    return {data, data == nullptr ? 0 : block_bytes_};
  }

  ConstByteSpan load(std::int64_t block, const SampleSource& source, bool check,
                     ReaderState& reader) override {
    const std::size_t at = checked(block);
    {
      std::unique_lock lock(mutex_);
      loaded_.wait(lock, [&] { return blocks_[at] || !is_loading_[at]; });
      if (blocks_[at]) return {blocks_[at].get(), block_bytes_};
      is_loading_[at] = true;
    }
    LargeMemory memory;
    try {
      memory = make_large(block_bytes_);
      if (!source.read_block(block, {memory.get(), block_bytes_}, check, reader)) memory.reset();
    } catch (...) {
      finish(at, nullptr);
      throw;
    }
    return finish(at, std::move(memory));
  }

  std::int64_t next_absent() override {
    const std::lock_guard lock(mutex_);
    // Once around: what failed earlier is behind the cursor.
    for (std::int64_t tried = 0; tried < num_blocks_; ++tried) {
      const std::int64_t block = cursor_;
      cursor_ = (cursor_ + 1) % num_blocks_;
      const auto at = static_cast<std::size_t>(block);
      if (!blocks_[at] && !is_loading_[at]) return block;
    }
    return -1;
  }

  bool is_complete() override { return num_held_blocks() == num_blocks_; }
  bool is_shared() const override { return false; }
  std::int64_t num_held_blocks() const override { return num_ready_.load(); }
  std::int64_t held_bytes() const override {
    return num_held_blocks() * static_cast<std::int64_t>(block_bytes_);
  }

 private:
  std::size_t checked(std::int64_t block) const {
    if (block < 0 || block >= num_blocks_) {
      throw OutOfRange("block " + std::to_string(block) + " is out of range, the store has " +
                       std::to_string(num_blocks_));
    }
    return static_cast<std::size_t>(block);
  }

  ConstByteSpan finish(std::size_t at, LargeMemory memory) {
    const std::byte* data = memory.get();
    {
      const std::lock_guard lock(mutex_);
      is_loading_[at] = false;
      blocks_[at] = std::move(memory);
      if (data != nullptr) {
        ready_[at].store(data, std::memory_order_release);
        num_ready_.fetch_add(1);
      }
    }
    loaded_.notify_all();
    return {data, data == nullptr ? 0 : block_bytes_};
  }

  const std::int64_t num_blocks_;
  const std::size_t block_bytes_;
  std::mutex mutex_;
  std::condition_variable loaded_;
  std::vector<LargeMemory> blocks_;
  std::vector<bool> is_loading_;
  std::int64_t cursor_ = 0;
  // For find(), which takes no lock.
  std::unique_ptr<std::atomic<const std::byte*>[]> ready_;
  std::atomic<std::int64_t> num_ready_{0};
};

}  // namespace

std::shared_ptr<BlockStore> make_private_store(std::int64_t num_blocks, std::int64_t block_bytes) {
  if (num_blocks < 0 || block_bytes < 1) {
    throw InvalidArgument("a store of " + std::to_string(num_blocks) + " blocks of " +
                          std::to_string(block_bytes) + " bytes");
  }
  return std::make_shared<PrivateStore>(num_blocks, block_bytes);
}

}  // namespace dts
