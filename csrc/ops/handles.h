// SPDX-License-Identifier: Apache-2.0
// Typed tables of integer handles for the state that ops keep: id -> shared_ptr, ids
// never reused, so a closed or foreign id is a clear error and never another object.
// Thread-safe. The object lives until the last op that uses it returns.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace dts::ops {

template <class T>
class HandleTable {
 public:
  // `kind` names the table in messages: "file", "writer".
  explicit HandleTable(const char* kind) : kind_(kind) {}

  std::int64_t add(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    objects_.emplace(++last_id_, std::move(object));
    return last_id_;
  }

  std::shared_ptr<T> get(std::int64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) throw unknown(id);
    return found->second;
  }

  // The object leaves the table; its destructor runs outside of the lock.
  std::shared_ptr<T> take(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(id);
    if (found == objects_.end()) throw unknown(id);
    auto object = std::move(found->second);
    objects_.erase(found);
    return object;
  }

  // Around fork: the child must not inherit a mutex locked by a thread it lacks.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  InvalidArgument unknown(std::int64_t id) const {
    return InvalidArgument("closed or unknown " + std::string(kind_) + " handle " +
                           std::to_string(id));
  }

  const char* kind_;
  mutable std::mutex mutex_;
  std::int64_t last_id_ = 0;
  std::unordered_map<std::int64_t, std::shared_ptr<T>> objects_;
};

}  // namespace dts::ops
