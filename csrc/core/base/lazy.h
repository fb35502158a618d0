// SPDX-License-Identifier: Apache-2.0
// A value built on first use and shared from then on.
//
// Thread-safe: one thread builds, the others wait. A builder that throws leaves it
// unbuilt, so that the next call tries (and reports) again. (std::call_once promises
// the same, but some C libraries hang after an exception.)
#pragma once

#include <mutex>
#include <optional>

namespace dts {

template <class T>
class Lazy {
 public:
  // The reference stays good for the life of this object.
  template <class Builder>
  const T& get(const Builder& build) {
    const std::lock_guard lock(mutex_);
    if (!maybe_value_) maybe_value_.emplace(build());
    return *maybe_value_;
  }

 private:
  std::mutex mutex_;
  std::optional<T> maybe_value_;
};

}  // namespace dts
