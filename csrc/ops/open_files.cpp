// SPDX-License-Identifier: Apache-2.0
#include "ops/open_files.h"

#include <pthread.h>

namespace dts::ops {

// A child process may be forked while another thread holds the pool's mutex, which
// then stays locked in the child for ever; so the pool is only ever tried, and a fresh
// handle is opened where it is busy.
OpenFile::Borrowed::Borrowed(OpenFile& owner) : owner_(owner) {
  {
    const std::unique_lock lock(owner_.mutex_, std::try_to_lock);
    if (lock.owns_lock() && !owner_.idle_.empty()) {
      handle_ = std::move(owner_.idle_.back());
      owner_.idle_.pop_back();
    }
  }
  if (!handle_) handle_ = std::make_unique<InputFile>(owner_.file_->open_handle());
  owner_.file_->check_unchanged(*handle_);
}

OpenFile::Borrowed::~Borrowed() {
  const std::unique_lock lock(owner_.mutex_, std::try_to_lock);
  if (lock.owns_lock()) owner_.idle_.push_back(std::move(handle_));
}

HandleTable<OpenFile>& open_files() {
  static HandleTable<OpenFile> table("file");
  static const int registered = pthread_atfork(
      [] { open_files().lock(); }, [] { open_files().unlock(); }, [] { open_files().unlock(); });
  static_cast<void>(registered);
  return table;
}

}  // namespace dts::ops
