// SPDX-License-Identifier: Apache-2.0
#include "ops/open_files.h"

#include <pthread.h>

#include <string>

#include "base/error.h"

namespace dts::ops {

const DtsFile& OpenFile::volume(std::int64_t number) const {
  if (number < 0 || static_cast<std::size_t>(number) >= set_->num_volumes()) {
    throw OutOfRange("volume " + std::to_string(number) + " is out of range, there are " +
                     std::to_string(set_->num_volumes()));
  }
  return set_->volume(static_cast<std::size_t>(number));
}

// A child process may be forked while another thread holds the pool's mutex, which
// then stays locked in the child for ever; so the pool is only ever tried, and fresh
// handles are opened where it is busy.
OpenFile::Borrowed::Borrowed(OpenFile& owner) : owner_(owner) {
  {
    const std::unique_lock lock(owner_.mutex_, std::try_to_lock);
    if (lock.owns_lock() && !owner_.idle_.empty()) {
      handles_ = std::move(owner_.idle_.back());
      owner_.idle_.pop_back();
    }
  }
  if (!handles_) handles_ = std::make_unique<VolumeHandles>();
}

OpenFile::Borrowed::~Borrowed() {
  const std::unique_lock lock(owner_.mutex_, std::try_to_lock);
  if (lock.owns_lock()) owner_.idle_.push_back(std::move(handles_));
}

HandleTable<OpenFile>& open_files() {
  // Never destroyed: at exit a thread may still be inside an op.
  static auto& table = *new HandleTable<OpenFile>("file");
  static const int registered = pthread_atfork(
      [] { open_files().lock(); }, [] { open_files().unlock(); }, [] { open_files().unlock(); });
  static_cast<void>(registered);
  return table;
}

}  // namespace dts::ops
