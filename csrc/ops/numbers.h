// SPDX-License-Identifier: Apache-2.0
// Numbers of an op's arguments, checked and narrowed. InvalidArgument names the argument,
// its value and what was expected. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace dts::ops {

inline void check_range(const char* name, std::int64_t value, std::int64_t high) {
  if (value >= 0 && value <= high) return;
  throw InvalidArgument(std::string(name) + " is " + std::to_string(value) + ", expected 0 to " +
                        std::to_string(high));
}

inline std::uint32_t narrow_u32(std::int64_t value, const char* name) {
  check_range(name, value, UINT32_MAX);
  return static_cast<std::uint32_t>(value);
}

// 0 to 2^20: numbers of threads and batches.
inline int narrow_count(std::int64_t value, const char* name) {
  check_range(name, value, std::int64_t{1} << 20);
  return static_cast<int>(value);
}

}  // namespace dts::ops
