// SPDX-License-Identifier: Apache-2.0
// Named sections beside the blocks (docs/format.md section 6).
//
//   table at 4096, in pixel files behind the payload (pixel_sections.h):
//   "DTSX" | u32 version 1 | u32 count | u32 crc(head, this field 0, entries)
//   entry (40 bytes): tag[4] | u32 flags | u64 offset | u64 stored | u64 raw | u32 crc | u32 0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "format/header.h"

namespace dts {

inline constexpr std::uint64_t kSectionTableOffset = 4096;
inline constexpr std::uint64_t kSectionTableHeadBytes = 16;
inline constexpr std::uint64_t kSectionEntryBytes = 40;
inline constexpr std::uint32_t kMaxSections = 64;
inline constexpr std::uint64_t kMaxSectionRawBytes = std::uint64_t{1} << 32;
inline constexpr std::uint32_t kSectionZlib = 1;      // the stored bytes are one zlib stream
inline constexpr std::uint32_t kSectionRequired = 2;  // a reader that lacks the tag must refuse

// All tags this reader knows, in the order in which the writer lays them out.
inline constexpr std::array<std::string_view, 8> kSectionTags = {"HEAD", "INFO", "CLSS", "BIDX",
                                                                 "SIZE", "LABL", "ORDR", "PATH"};
bool is_known_section(std::string_view tag);

// Whether a zlib section of `stored_bytes` may claim `raw_bytes` (1100 times and 4096).
bool may_inflate_to(std::uint64_t raw_bytes, std::uint64_t stored_bytes);

struct Section {
  std::string tag;  // four characters
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t raw_bytes = 0;
  std::uint32_t crc = 0;
};

struct SectionTable {
  std::vector<Section> sections;  // in the order of the table
  std::vector<std::byte> bytes;   // the table as it is in the file, for the fingerprint
  const Section* find(const std::string& tag) const;  // nullptr when absent
};

// Where a table lies and its sections may: behind the table and below `header_end`, or in
// [payload_end, file_end) and behind the table.
struct SectionPlaces {
  std::uint64_t table;
  std::uint64_t header_end;  // 0: only behind the payload
  std::uint64_t payload_end;
  std::uint64_t file_end;
};

// Reads and checks the table at places.table. Checked: version, count, CRC, alignment,
// bounds, overlap, duplicates, sizes, required flags, HEAD's CRC of the header. CorruptFile
// names the section.
SectionTable read_section_table_at(const InputFile& file, const SectionPlaces& places,
                                   ConstByteSpan header_bytes);

// The table of a JPEG-block file; an empty one when bytes 4096..4111 are zero.
SectionTable read_section_table(const InputFile& file, const Header& header,
                                ConstByteSpan header_bytes, std::uint64_t file_bytes);

// A section's raw bytes: CRC of the stored bytes checked, inflated where flagged, with
// exactly raw_bytes of output. CorruptFile names the section.
std::vector<std::byte> read_section(const InputFile& file, const Section& section);

// The table as bytes, CRC filled in. Entries in the order given.
std::vector<std::byte> serialize_section_table(const std::vector<Section>& sections);

}  // namespace dts
