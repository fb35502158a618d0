// SPDX-License-Identifier: Apache-2.0
// The head of a sample of pixels, as docs/format.md has it. Python writes them.
#pragma once

#include <cstring>

#include "base/bytes.h"
#include "format/raw_sample.h"

namespace dts::testing {

inline void write_raw_head(const RawShape& shape, ByteSpan out) {
  std::memset(out.data(), 0, kRawHeadBytes);
  std::memcpy(out.data(), "DTSR", 4);
  store_le(out.data() + 4, static_cast<std::uint16_t>(shape.height));
  store_le(out.data() + 6, static_cast<std::uint16_t>(shape.width));
  store_le(out.data() + 8, static_cast<std::uint8_t>(shape.channels));
}

}  // namespace dts::testing
