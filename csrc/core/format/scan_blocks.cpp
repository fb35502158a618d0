// SPDX-License-Identifier: Apache-2.0
#include "format/scan_blocks.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace dts {
namespace {

constexpr unsigned kMaxThreads = 8;
constexpr std::uint64_t kFirstReadBytes = 4096;  // all of the index at level 0

std::vector<SlotMeta> scan_block(const InputFile& file, const Header& header,
                                 std::uint32_t block_id, std::vector<std::byte>& buffer) {
  const std::uint64_t start = header.header_bytes + std::uint64_t{block_id} * header.block_size;
  buffer.resize(std::min<std::uint64_t>(header.block_header_size, kFirstReadBytes));
  file.read_exact(start, buffer);
  const std::uint32_t num_samples = parse_block_count(buffer, header, block_id, file.path());
  const std::size_t index_bytes = 12 + 12 * std::size_t{num_samples};
  if (index_bytes > buffer.size()) {
    const std::size_t have = buffer.size();
    buffer.resize(index_bytes);
    file.read_exact(start + have, ByteSpan(buffer).subspan(have));
  }
  const BlockIndex index = parse_block_index(buffer, header, block_id, file.path());
  std::vector<SlotMeta> slots(index.num_samples);
  for (std::uint32_t i = 0; i < index.num_samples; ++i) slots[i] = index.slot(i);
  return slots;
}

// Blocks are claimed in rising order, and the error of the lowest one is kept, so the
// error does not depend on the threads.
class Scan {
 public:
  Scan(const Header& header) : header_(header), slots_(header.num_blocks) {}

  void work(const InputFile& file) noexcept {
    std::vector<std::byte> buffer;
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::uint64_t block_id = next_.fetch_add(1, std::memory_order_relaxed);
      if (block_id >= header_.num_blocks) return;
      try {
        slots_[block_id] = scan_block(file, header_, static_cast<std::uint32_t>(block_id), buffer);
      } catch (...) {
        fail(block_id);
      }
    }
  }

  // A thread that can't open its handle fails the scan, but any block's error is told first.
  void fail(std::uint64_t block_id) noexcept {
    const std::lock_guard lock(mutex_);
    if (block_id < failed_block_) {
      failed_block_ = block_id;
      maybe_error_ = std::current_exception();
    }
    failed_.store(true, std::memory_order_relaxed);
  }

  std::vector<std::vector<SlotMeta>> result() {
    if (maybe_error_) std::rethrow_exception(maybe_error_);
    return std::move(slots_);
  }

 private:
  const Header& header_;
  std::vector<std::vector<SlotMeta>> slots_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::uint64_t failed_block_ = std::numeric_limits<std::uint64_t>::max();
  std::exception_ptr maybe_error_;
};

}  // namespace

std::vector<std::vector<SlotMeta>> scan_blocks(const InputFile& file, const Header& header,
                                               const std::function<InputFile()>& open_handle) {
  Scan scan(header);
  const unsigned wanted = std::min({kMaxThreads, std::max(1u, std::thread::hardware_concurrency()),
                                    std::max(1u, static_cast<unsigned>(header.num_blocks))});
  {
    std::vector<std::jthread> threads;
    threads.reserve(wanted - 1);
    try {
      while (threads.size() + 1 < wanted) {
        threads.emplace_back([&scan, &open_handle]() noexcept {
          try {
            scan.work(open_handle());
          } catch (...) {
            scan.fail(std::numeric_limits<std::uint64_t>::max() - 1);
          }
        });
      }
    } catch (const std::system_error&) {
      // No more threads to be had: those that run, and this one, do all the work.
    }
    scan.work(file);
  }
  std::vector<std::vector<SlotMeta>> slots = scan.result();
  std::uint64_t num_samples = 0;
  for (const auto& block : slots) num_samples += block.size();
  if (num_samples != header.num_samples) {
    throw CorruptFile(file.path(), 52,
                      "num_samples is " + std::to_string(header.num_samples) +
                          ", but the blocks hold " + std::to_string(num_samples));
  }
  return slots;
}

}  // namespace dts
