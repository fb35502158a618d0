// SPDX-License-Identifier: Apache-2.0
// Memory for the samples of one batch whose sizes nobody knows before they are read: pieces
// for any number of threads at once, and used again as a whole by the next batch.
//
// What earlier batches needed is one range, of which a piece costs one atomic addition; what
// goes beyond it is allocated, and part of the range next time. So batches that are alike
// allocate nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>

#include "base/bytes.h"
#include "base/large_memory.h"
#include "pipeline/sample_source.h"

namespace dts {

class BatchBytes {
 public:
  BatchBytes() = default;
  BatchBytes(const BatchBytes&) = delete;
  BatchBytes& operator=(const BatchBytes&) = delete;

  // A piece that stays until clear(), aligned to 64, with an address even where it is empty.
  // Thread-safe. std::bad_alloc.
  ByteSpan allocate(std::size_t bytes);
  // Forgets all pieces. By one thread while no other uses this.
  void clear() noexcept;
  std::size_t held_bytes() const;  // as clear()

 private:
  LargeMemory range_;
  std::size_t capacity_ = 0;
  std::atomic<std::size_t> asked_{0};  // of all pieces since clear(), also beyond the range
  std::mutex mutex_;
  ReadMemory beyond_;
};

}  // namespace dts
