// SPDX-License-Identifier: Apache-2.0
#include "format/sections.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/crc32.h"
#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

constexpr std::string_view kTableMagic = "DTSX";
constexpr std::uint32_t kTableVersion = 1;

constexpr std::size_t kCheckedHeaderBytes = 140;  // HEAD leaves crc_code out

// CRC of the table with its own field taken as zero.
std::uint32_t table_crc(ConstByteSpan table) {
  constexpr std::array<std::byte, 4> kZero{};
  const std::uint32_t crc = crc32(crc32(0, table.first(12)), kZero);
  return crc32(crc, table.subspan(kSectionTableHeadBytes));
}

std::string range(std::uint64_t begin, std::uint64_t end) {
  return std::to_string(begin) + " .. " + std::to_string(end);
}

class EntryChecker {
 public:
  EntryChecker(const Section& section, std::uint64_t entry_at, const std::string& path)
      : section_(section), entry_at_(entry_at), path_(path) {}

  // `table_end`: where the table with all its entries ends.
  void check(const SectionPlaces& places, std::uint64_t table_end, std::uint32_t reserved) const {
    const Section& s = section_;
    for (const char c : s.tag) {
      require(c > 0x20 && c < 0x7F, 0, "the tag is not four printable characters");
    }
    require(reserved == 0, 36, "the reserved field is not zero");
    const bool known = is_known_section(s.tag);
    require(
        known || (s.flags & kSectionRequired) == 0, 4,
        "the file can't be read without it, but this reader does not know it; update torch_dts");
    require(!known || (s.flags & ~(kSectionZlib | kSectionRequired)) == 0, 4,
            "flags are " + hex32(s.flags) + ", expected only bits 0 and 1");
    require(s.offset % kSampleAlignment == 0, 8,
            "it starts at " + std::to_string(s.offset) + ", expected a multiple of 64");
    const bool in_file =
        s.stored_bytes <= places.file_end && s.offset <= places.file_end - s.stored_bytes;
    const std::uint64_t end = in_file ? s.offset + s.stored_bytes : 0;
    const bool in_header = s.offset >= table_end && end <= places.header_end;
    const std::uint64_t behind = std::max(places.payload_end, table_end);
    require(in_file && (in_header || s.offset >= behind), 8,
            std::to_string(s.stored_bytes) + " bytes at " + std::to_string(s.offset) +
                " are out of bounds, expected inside " +
                (places.header_end > 0 ? range(table_end, places.header_end) + " or " : "") +
                range(behind, places.file_end));
    require(s.raw_bytes <= kMaxSectionRawBytes, 24,
            std::to_string(s.raw_bytes) + " raw bytes, expected at most " +
                std::to_string(kMaxSectionRawBytes));
    if ((s.flags & kSectionZlib) != 0) {
      require(may_inflate_to(s.raw_bytes, s.stored_bytes), 24,
              std::to_string(s.raw_bytes) + " raw bytes, more than " +
                  std::to_string(s.stored_bytes) + " stored bytes can hold");
    } else {
      require(s.raw_bytes == s.stored_bytes, 24,
              std::to_string(s.raw_bytes) + " raw bytes, expected " +
                  std::to_string(s.stored_bytes) + " as it is not compressed");
    }
  }

  void require(bool holds, std::uint64_t field, const std::string& problem) const {
    if (!holds) {
      throw CorruptFile(path_, static_cast<std::int64_t>(entry_at_ + field),
                        "section " + in_quotes(section_.tag) + ": " + problem);
    }
  }

 private:
  const Section& section_;
  std::uint64_t entry_at_;
  const std::string& path_;
};

void check_overlap(const std::vector<Section>& sections, const std::string& path) {
  std::vector<const Section*> by_offset;
  for (const Section& section : sections) {
    if (section.stored_bytes > 0) by_offset.push_back(&section);
  }
  std::sort(by_offset.begin(), by_offset.end(),
            [](const Section* a, const Section* b) { return a->offset < b->offset; });
  for (std::size_t i = 1; i < by_offset.size(); ++i) {
    const Section& before = *by_offset[i - 1];
    const Section& section = *by_offset[i];
    if (section.offset < before.offset + before.stored_bytes) {
      throw CorruptFile(path, static_cast<std::int64_t>(section.offset),
                        "section " + in_quotes(section.tag) + " at " +
                            std::to_string(section.offset) + " overlaps section " +
                            in_quotes(before.tag) + ", which ends at " +
                            std::to_string(before.offset + before.stored_bytes));
    }
  }
}

void check_head(const InputFile& file, const Section& section, ConstByteSpan header_bytes) {
  const auto fail = [&](const std::string& problem) {
    throw CorruptFile(file.path(), static_cast<std::int64_t>(section.offset),
                      "section 'HEAD': " + problem);
  };
  if (section.raw_bytes != 4) fail(std::to_string(section.raw_bytes) + " bytes, expected 4");
  const std::vector<std::byte> content = read_section(file, section);
  const auto expected = load_le<std::uint32_t>(content.data());
  const std::uint32_t found = crc32(0, header_bytes.first(kCheckedHeaderBytes));
  if (found != expected) {
    fail("CRC-32 of the file header is " + hex32(found) + ", expected " + hex32(expected));
  }
}

}  // namespace

bool is_known_section(std::string_view tag) {
  return std::find(kSectionTags.begin(), kSectionTags.end(), tag) != kSectionTags.end();
}

bool may_inflate_to(std::uint64_t raw_bytes, std::uint64_t stored_bytes) {
  // raw <= 1100 * stored + 4096, without a product that could wrap.
  return raw_bytes <= 4096 || (raw_bytes - 4096 + 1099) / 1100 <= stored_bytes;
}

const Section* SectionTable::find(const std::string& tag) const {
  for (const Section& section : sections) {
    if (section.tag == tag) return &section;
  }
  return nullptr;
}

SectionTable read_section_table_at(const InputFile& file, const SectionPlaces& places,
                                   ConstByteSpan header_bytes) {
  const std::string& path = file.path();
  const auto fail = [&](std::uint64_t field, const std::string& problem) {
    throw CorruptFile(path, static_cast<std::int64_t>(places.table + field),
                      "section table: " + problem);
  };
  std::array<std::byte, kSectionTableHeadBytes> head;
  file.read_exact(places.table, head);
  if (as_text(ConstByteSpan(head).first(4)) != kTableMagic) {
    fail(0, "magic is " + in_quotes(as_text(ConstByteSpan(head).first(4))) + ", expected " +
                in_quotes(kTableMagic) + (places.header_end > 0 ? " or zeros" : ""));
  }
  const auto version = load_le<std::uint32_t>(head.data() + 4);
  if (version != kTableVersion) {
    fail(4, "version is " + std::to_string(version) + ", this reader knows " +
                std::to_string(kTableVersion) + " (ignore_sections=True reads without it)");
  }
  const auto count = load_le<std::uint32_t>(head.data() + 8);
  if (count > kMaxSections) {
    fail(8, std::to_string(count) + " sections, expected at most " + std::to_string(kMaxSections));
  }

  SectionTable table;
  table.bytes.resize(kSectionTableHeadBytes + kSectionEntryBytes * count);
  const std::uint64_t table_end = places.table + table.bytes.size();
  if (table_end > places.file_end) {
    fail(8, std::to_string(count) + " sections, whose entries end at " + std::to_string(table_end) +
                ", expected at most " + std::to_string(places.file_end));
  }
  file.read_exact(places.table, table.bytes);
  const auto expected_crc = load_le<std::uint32_t>(table.bytes.data() + 12);
  const std::uint32_t crc = table_crc(table.bytes);
  if (crc != expected_crc) {
    fail(12, "CRC-32 is " + hex32(crc) + ", expected " + hex32(expected_crc));
  }

  for (std::uint32_t i = 0; i < count; ++i) {
    const std::size_t entry = kSectionTableHeadBytes + kSectionEntryBytes * i;
    const std::byte* at = table.bytes.data() + entry;
    Section section;
    section.tag = as_text({at, 4});
    section.flags = load_le<std::uint32_t>(at + 4);
    section.offset = load_le<std::uint64_t>(at + 8);
    section.stored_bytes = load_le<std::uint64_t>(at + 16);
    section.raw_bytes = load_le<std::uint64_t>(at + 24);
    section.crc = load_le<std::uint32_t>(at + 32);
    const EntryChecker checker(section, places.table + entry, path);
    checker.check(places, table_end, load_le<std::uint32_t>(at + 36));
    checker.require(table.find(section.tag) == nullptr, 0, "the table names it twice");
    table.sections.push_back(std::move(section));
  }
  check_overlap(table.sections, path);
  if (const Section* section = table.find("HEAD")) check_head(file, *section, header_bytes);
  return table;
}

SectionTable read_section_table(const InputFile& file, const Header& header,
                                ConstByteSpan header_bytes, std::uint64_t file_bytes) {
  std::array<std::byte, kSectionTableHeadBytes> head;
  file.read_exact(kSectionTableOffset, head);
  if (head == std::array<std::byte, kSectionTableHeadBytes>{}) return {};
  return read_section_table_at(file,
                               {kSectionTableOffset, header.header_bytes,
                                header.header_bytes + header.block_bytes, file_bytes},
                               header_bytes);
}

std::vector<std::byte> serialize_section_table(const std::vector<Section>& sections) {
  std::vector<std::byte> bytes(kSectionTableHeadBytes + kSectionEntryBytes * sections.size());
  std::memcpy(bytes.data(), kTableMagic.data(), 4);
  store_le(bytes.data() + 4, kTableVersion);
  store_le(bytes.data() + 8, static_cast<std::uint32_t>(sections.size()));
  std::byte* at = bytes.data() + kSectionTableHeadBytes;
  for (const Section& section : sections) {
    std::memcpy(at, section.tag.data(), std::min<std::size_t>(4, section.tag.size()));
    store_le(at + 4, section.flags);
    store_le(at + 8, section.offset);
    store_le(at + 16, section.stored_bytes);
    store_le(at + 24, section.raw_bytes);
    store_le(at + 32, section.crc);
    at += kSectionEntryBytes;
  }
  store_le(bytes.data() + 12, table_crc(bytes));
  return bytes;
}

}  // namespace dts
