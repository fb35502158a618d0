// SPDX-License-Identifier: Apache-2.0
// A rectangle in pixels: rows [top, top + height), columns [left, left + width).
#pragma once

#include <cstdint>

namespace dts {

struct Box {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const Box&) const = default;
};

}  // namespace dts
