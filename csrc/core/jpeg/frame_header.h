// SPDX-License-Identifier: Apache-2.0
// The header of a JPEG that our own decoder reads: sequential, Huffman-coded, 8 bits, one
// scan of all its components, gray or YCbCr with chroma sampled like luma or half as often.
// Read strictly, marker by marker: what is accepted here libjpeg surely reads without an
// error, and as the same picture.
// Thread-safe, no allocation, never reads outside of the data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "jpeg/coefficients.h"
#include "jpeg/huffman_tables.h"

namespace dts {

// Row by row, as coefficients are.
using QuantizationTable = std::array<std::uint16_t, kBlockCoefficients>;

struct FrameHeader {
  JpegGeometry geometry;
  // Of each component. The Huffman tables are views of the data.
  std::array<QuantizationTable, kMaxComponents> quantization = {};
  std::array<HuffmanSpec, kMaxComponents> dc;
  std::array<HuffmanSpec, kMaxComponents> ac;
  std::int64_t restart_interval = 0;  // MCUs; 0: no restart markers
  std::size_t coded_offset = 0;       // of the first byte behind the scan's header
};

// False for all other data; then `header` holds anything.
bool read_frame_header(ConstByteSpan data, FrameHeader* header);

}  // namespace dts
