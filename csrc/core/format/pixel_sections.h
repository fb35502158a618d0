// SPDX-License-Identifier: Apache-2.0
// Where the parts of a pixel file lie (docs/format.md, "Pixel files"), and its sections.
//
//   header | 256: n labels (u8) | n * H * W * C pixels | zeros up to a multiple of 64 |
//   section table | sections, each at a multiple of 64 | footer (16 bytes)
//   footer: u64 offset of the table | "DTSX" | u32 CRC-32 of the 12 bytes
//
// Files without sections end with the payload.
#pragma once

#include <array>
#include <cstdint>

#include "base/file.h"
#include "format/header.h"
#include "format/sections.h"

namespace dts {

inline constexpr std::size_t kPixelFooterBytes = 16;

// From the shape in the header. total_bytes, block_bytes and block_size are not asked: old
// MNIST files have them wrong.
struct PixelPlaces {
  std::uint64_t num_samples;
  std::uint64_t sample_bytes;  // height * width * channels
  std::uint64_t labels = kPixelHeaderBytes;

  std::uint64_t pixels() const { return labels + num_samples; }
  std::uint64_t end() const { return pixels() + num_samples * sample_bytes; }
  std::uint64_t table() const { return align_up(end()); }
};

// `header` has been checked by parse_header, so no number wraps.
PixelPlaces pixel_places(const Header& header);

// The sections of a pixel file; an empty table where the file ends with its payload.
// CorruptFile for a longer file without a valid footer, and as read_section_table_at.
SectionTable read_pixel_sections(const InputFile& file, const Header& header,
                                 ConstByteSpan header_bytes, std::uint64_t file_bytes);

std::array<std::byte, kPixelFooterBytes> serialize_pixel_footer(std::uint64_t table_offset);

}  // namespace dts
