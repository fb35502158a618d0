// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_source.h"

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "pipeline/block_store.h"

namespace dts {
namespace {

constexpr std::size_t kMinChunkBytes = std::size_t{1} << 20;

[[noreturn]] void fail_without_blocks() {
  throw InvalidArgument("this source has no blocks, its samples are read singly");
}

}  // namespace

ByteSpan ReadMemory::allocate(std::size_t bytes) {
  // Pieces begin at multiples of 64; sizes come from files and are far below 2^63.
  if (!chunks_.empty()) {
    Chunk& chunk = chunks_.back();
    const std::size_t start = align_up(chunk.used);
    if (start <= chunk.capacity && bytes <= chunk.capacity - start) {
      chunk.used = start + bytes;
      return {chunk.data.get() + start, bytes};
    }
  }
  Chunk chunk;
  // What is asked for after the first piece comes in many small ones.
  chunk.capacity =
      chunks_.empty() ? bytes : std::max(bytes, std::max(kMinChunkBytes, held_bytes() / 4));
  chunk.data = make_large(chunk.capacity);
  chunk.used = bytes;
  chunks_.push_back(std::move(chunk));
  return {chunks_.back().data.get(), bytes};
}

void ReadMemory::clear() {
  if (chunks_.size() == 1) {
    chunks_.front().used = 0;
    return;
  }
  // One chunk next time, so that sizes that repeat need no further memory.
  const std::size_t total = held_bytes();
  chunks_.clear();
  if (total == 0) return;
  allocate(total);
  chunks_.front().used = 0;
}

ByteSpan ReadMemory::reserve(std::size_t bytes) {
  // The old memory goes before the new one is asked for.
  if (held_bytes() < bytes) release();
  clear();
  return allocate(bytes);
}

bool ReadMemory::holds(const std::byte* address) const {
  const std::less<const std::byte*> before;
  return std::any_of(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
    return !before(address, chunk.data.get()) && before(address, chunk.data.get() + chunk.used);
  });
}

std::size_t ReadMemory::held_bytes() const {
  std::size_t total = 0;
  for (const Chunk& chunk : chunks_) total += chunk.capacity;
  return total;
}

void ReadMemory::release() { chunks_.clear(); }

std::int64_t SampleSource::block_of(std::int64_t) const { fail_without_blocks(); }

bool SampleSource::read_block(std::int64_t, ByteSpan, bool, ReaderState&) const {
  fail_without_blocks();
}

SampleView SampleSource::view_in_block(std::int64_t, ConstByteSpan) const { fail_without_blocks(); }

std::shared_ptr<BlockStore> SampleSource::store() const { return nullptr; }

bool SampleSource::keep_next(bool, ReaderState&) const { return false; }

void SampleSource::check_sample(std::int64_t sample) const {
  if (sample < 0 || sample >= num_samples()) {
    throw OutOfRange("sample " + std::to_string(sample) + " is out of range, the source has " +
                     std::to_string(num_samples()));
  }
}

void SampleSource::check_views(std::size_t num_samples, std::size_t num_views) {
  if (num_samples == num_views) return;
  throw InvalidArgument(std::to_string(num_views) + " views for " + std::to_string(num_samples) +
                        " samples");
}

}  // namespace dts
