// SPDX-License-Identifier: Apache-2.0
// The segments of a JPEG that don't describe the coded data: APPn and COM. Which of them
// say how the picture is to be shown, and the one tag of EXIF that does. Views borrow from
// the data. Never reads outside of it, whatever the bytes. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace dts {

struct MetadataSegment {
  std::uint8_t marker = 0;  // 0xE0..0xEF: APP0..APP15, 0xFE: COM
  ConstByteSpan content;    // behind marker and length
};

// Marker and length before a segment's content.
inline constexpr std::size_t kSegmentHeadBytes = 4;

// All APPn and COM from SOI to EOI, those between scans included, in order. Returns the
// offset behind the EOI; data.size() where there is none.
std::size_t list_metadata(ConstByteSpan data, std::vector<MetadataSegment>* segments);

// The orientation, 1 to 8, of an EXIF segment (APP1) or of an XMP packet (APP1), 0: none.
int exif_orientation(ConstByteSpan content);
int xmp_orientation(ConstByteSpan content);

// Content of an EXIF segment with the orientation and nothing else.
using OrientationExif = std::array<std::byte, 32>;
OrientationExif make_orientation_exif(int orientation);

// What to write of a file's metadata.
struct MetadataChoice {
  std::vector<MetadataSegment> kept;
  OrientationExif exif = {};  // one of `kept` may point to it
  std::int64_t num_dropped = 0;
  std::int64_t dropped_bytes = 0;
};

// Keeps APP0, APP14, ICC profiles and the orientation, which stands in EXIF or, where EXIF
// says nothing, in XMP; the EXIF segment becomes a minimal one, which counts as dropped as
// far as it shrinks. `choice` holds no view of its former content; it must not be moved.
void choose_metadata(const std::vector<MetadataSegment>& segments, MetadataChoice* choice);

}  // namespace dts
