// SPDX-License-Identifier: Apache-2.0
// The header of a JPEG whose pieces may be cut out: sequential, Huffman-coded, 8 bits, one
// scan of all its components, with restart markers. Read strictly, marker by marker: what is
// accepted here libjpeg surely reads without an error, and as the same picture.
// Thread-safe, never reads outside of the data.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace dts {

struct SpliceHeader {
  std::int64_t width = 0;  // pixels
  std::int64_t height = 0;
  int num_components = 0;
  std::int64_t mcu_width = 0;  // pixels; 8 x 8 for one component, whatever its factors
  std::int64_t mcu_height = 0;
  std::int64_t restart_interval = 0;  // MCUs, not 0
  std::size_t coded_offset = 0;       // of the first byte behind the scan's header
  std::size_t size_offset = 0;        // in the copy: height and width, two bytes each
};

// Empty for all other data. `copy` gets a header of the same picture without what its pixels
// don't depend on (Exif, ICC profile, comments, all but the last DRI); its memory is reused.
std::optional<SpliceHeader> read_splice_header(ConstByteSpan data, std::vector<std::byte>& copy);

}  // namespace dts
