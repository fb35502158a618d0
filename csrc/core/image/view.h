// SPDX-License-Identifier: Apache-2.0
// Views of 8-bit images in memory. They borrow; the owner says how long they last.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/box.h"

namespace dts {

// Interleaved rows: channels (1, 3 or 4) bytes a pixel, rows `stride` bytes apart.
struct ConstImageView {
  const std::uint8_t* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t stride = 0;
  const std::uint8_t* row(std::int64_t y) const { return data + y * stride; }
};

struct ImageView {
  std::uint8_t* data = nullptr;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t stride = 0;
  std::uint8_t* row(std::int64_t y) const { return data + y * stride; }
  operator ConstImageView() const { return {data, height, width, channels, stride}; }
};

}  // namespace dts
