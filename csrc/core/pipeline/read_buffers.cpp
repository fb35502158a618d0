// SPDX-License-Identifier: Apache-2.0
#include "pipeline/read_buffers.h"

#include "base/error.h"

namespace dts {

void ReadBuffers::acquire() {
  const std::lock_guard lock(mutex_);
  if (is_taken_) {
    throw InvalidArgument(
        "the read buffers are in use: another loader that shares them has an unfinished "
        "iteration; end it first (or delete its iterator), or give each loader its own buffers");
  }
  is_taken_ = true;
}

void ReadBuffers::release() {
  const std::lock_guard lock(mutex_);
  is_taken_ = false;
}

std::size_t ReadBuffers::held_bytes() const {
  const std::lock_guard lock(mutex_);
  if (is_taken_) return 0;
  return pieces_[0].held_bytes() + pieces_[1].held_bytes();
}

}  // namespace dts
