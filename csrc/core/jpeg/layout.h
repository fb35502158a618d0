// SPDX-License-Identifier: Apache-2.0
// How the segments of a JPEG's header lie one behind the other. Where they lie in an
// unusual way, libjpeg and Pillow's own parser may judge differently.
// Thread-safe, no allocation, never reads outside of the data.
#pragma once

#include "base/bytes.h"

namespace dts {

// True when `header`, from SOI to the end of the first scan's header, is nothing but SOI
// and segments with a length (fill bytes between them are fine): no stray bytes, no
// markers that stand alone.
bool is_plain_header(ConstByteSpan header);

}  // namespace dts
