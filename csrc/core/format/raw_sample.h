// SPDX-License-Identifier: Apache-2.0
// Samples that are stored as pixels, beside others that are encoded images (docs/format.md):
//   "DTSR" | u16 height | u16 width | u8 channels (1 or 3) | 7 zero bytes | rows, HWC
// Plain arithmetic on memory of the caller; thread-safe; no allocation.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace dts {

inline constexpr std::size_t kRawHeadBytes = 16;

struct RawShape {
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t num_bytes() const { return height * width * channels; }
  friend bool operator==(const RawShape&, const RawShape&) = default;
};

// The shape of the pixels behind the head; empty where `stored` is not, to the byte, a
// sample of pixels.
std::optional<RawShape> raw_shape(ConstByteSpan stored);

}  // namespace dts
