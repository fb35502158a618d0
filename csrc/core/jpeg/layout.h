// SPDX-License-Identifier: Apache-2.0
// How the parts of a JPEG lie one behind the other, found without decoding it. Where
// they lie in an unusual way, libjpeg and Pillow's own parser may judge differently.
// Thread-safe, no allocation, never reads outside of the data.
#pragma once

#include "base/bytes.h"

namespace dts {

// True when `header`, from SOI to the end of the first scan's header, is nothing but SOI
// and segments with a length (fill bytes between them are fine): no stray bytes, no
// markers that stand alone.
bool is_plain_header(ConstByteSpan header);

enum class ScanEnd {
  kEoi,     // the picture's end: nothing but coded data and RSTn before it
  kMarker,  // some other marker first: a further scan, tables, damage
  kNone,    // the data ends without one
};

// `coded` begins behind the scan's header. Bytes stuffed into coded data, fill bytes and
// RSTn are passed over, as libjpeg and is_complete_jpeg do.
ScanEnd find_scan_end(ConstByteSpan coded);

}  // namespace dts
