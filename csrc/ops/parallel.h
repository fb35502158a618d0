// SPDX-License-Identifier: Apache-2.0
// Work of an op shared by torch's threads.
#pragma once

#include <torch/csrc/stable/ops.h>

#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "base/error.h"
#include "ops/ending.h"

namespace dts::ops {

// Runs function(first, last) over parts of [0, count) in torch's threads, of `grain` items at
// least; up to `grain` items altogether run in the calling thread alone. An exception
// must not reach torch's C interface, which would turn it into another type: the first
// one is kept and thrown here.
template <class Function>
void in_parallel(std::int64_t count, const Function& function, std::int64_t grain = 1) {
  if (grain < 1)
    throw InvalidArgument("grain is " + std::to_string(grain) + ", expected 1 or more");
  if (count <= grain) {
    if (count > 0) function(0, count);
    return;
  }
  std::exception_ptr failure;
  const bool for_ender = acts_for_ender();
  std::mutex mutex;
  torch::stable::parallel_for(0, count, grain, [&](std::int64_t first, std::int64_t last) {
    const ActFor caller(for_ender);
    try {
      function(first, last);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace dts::ops
