// SPDX-License-Identifier: Apache-2.0
// Whether a JPEG is of the kinds that decoders other than libjpeg read alike: baseline or
// progressive with Huffman coding, 8 bits, gray or YCbCr with one of the usual samplings
// (4:4:4, 4:2:2, 4:2:0, 4:4:0, 4:1:1). Never reads outside of the data. Thread-safe, no
// allocation.
#pragma once

#include "base/bytes.h"

namespace dts {

// Looks at the header alone, segment by segment up to the first scan; false for all other data.
bool is_common_jpeg(ConstByteSpan data);

}  // namespace dts
