// SPDX-License-Identifier: Apache-2.0
// Finds the markers in coded data, which begins behind a scan's header, in one pass at the
// speed of memory. Bytes stuffed into coded data (FF 00) and fill bytes (FF before a marker)
// are no markers, as for libjpeg. Thread-safe, no allocation, never reads outside of the data.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "image/simd.h"

namespace dts {

enum class ScanEnd {
  kEoi,     // the picture's end: nothing but coded data and RSTn before it
  kMarker,  // some other marker first: a further scan, tables, damage
  kNone,    // the data ends without one
};

// RSTn are passed over, whatever their order.
ScanEnd find_scan_end(ConstByteSpan coded, SimdLevel level = best_simd_level());

// The markers of a scan with restarts, when they are RST0, RST1 ... RST7, RST0 ..., as many as
// `restarts` has room for, and then EOI: fills in their offsets and returns that of EOI. An
// offset is that of the FF right before the marker's code. Empty for any other markers and for
// 4 GiB and more of data; then `restarts` may be filled in part.
std::optional<std::size_t> find_restarts(ConstByteSpan coded, std::span<std::uint32_t> restarts,
                                         SimdLevel level = best_simd_level());

}  // namespace dts
