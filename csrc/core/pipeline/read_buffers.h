// SPDX-License-Identifier: Apache-2.0
// The two pieces of memory of PARTIAL mode, which several loaders may share (training and
// validation take turns). Thread-safe.
#pragma once

#include <array>
#include <mutex>

#include "pipeline/sample_source.h"

namespace dts {

class ReadBuffers {
 public:
  // Takes both pieces for a stream; InvalidArgument where another stream has them.
  void acquire();
  // They keep their memory for the next stream.
  void release();
  // Only between acquire and release.
  ReadMemory& piece(int number) { return pieces_[static_cast<std::size_t>(number)]; }
  // 0 while a stream has them: it alone knows.
  std::size_t held_bytes() const;

 private:
  mutable std::mutex mutex_;
  bool is_taken_ = false;
  std::array<ReadMemory, 2> pieces_;
};

}  // namespace dts
