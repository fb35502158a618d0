// SPDX-License-Identifier: Apache-2.0
// Good tables; test_sections_hostile.cpp has the bad ones.
#include "format/sections.h"

#include <doctest/doctest.h>

#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::small_file;
using testing::small_old_file;
using testing::SmallFile;
using testing::TempDir;

SectionTable read_table(const std::string& path) {
  const InputFile file(path);
  Bytes header_bytes(kHeaderBytes);
  file.read_exact(0, header_bytes);
  const std::uint64_t file_bytes = file.identity().size;
  return read_section_table(file, parse_header(header_bytes, file_bytes, path), header_bytes,
                            file_bytes);
}

TEST_CASE("serialize_section_table: golden bytes") {
  Section section;
  section.tag = "INFO";
  section.flags = kSectionZlib;
  section.offset = 0x1122334455667740;
  section.stored_bytes = 258;
  section.raw_bytes = 1000;
  section.crc = 0xCAFEBABE;
  const Bytes bytes = serialize_section_table({section});
  Bytes expected = bytes_of(
      "DTSX" + std::string("\x01\0\0\0\x01\0\0\0", 8) + std::string("\0\0\0\0", 4) + "INFO" +
      std::string("\x01\0\0\0\x40\x77\x66\x55\x44\x33\x22\x11\x02\x01\0\0\0\0\0\0", 20) +
      std::string("\xe8\x03\0\0\0\0\0\0\xbe\xba\xfe\xca\0\0\0\0", 16));
  store_le(expected.data() + 12, crc32(0, expected));
  CHECK(bytes == expected);
}

TEST_CASE("serialize_section_table: of no section") {
  const Bytes bytes = serialize_section_table({});
  REQUIRE(bytes.size() == 16);
  CHECK(load_le<std::uint32_t>(bytes.data() + 8) == 0);
}

TEST_CASE("read_section_table: zeros are no table") {
  const TempDir dir;
  small_old_file().write(dir / "a");
  const SectionTable table = read_table(dir / "a");
  CHECK(table.sections.empty());
  CHECK(table.bytes.empty());
  CHECK(table.find("HEAD") == nullptr);
}

TEST_CASE("read_section_table: every field, and the table's own bytes") {
  const TempDir dir;
  SmallFile file = small_file();
  file.write(dir / "a");
  const SectionTable table = read_table(dir / "a");
  REQUIRE(table.sections.size() == 5);
  const std::vector<std::string> tags = {"BIDX", "SIZE", "LABL", "ORDR", "HEAD"};
  for (std::size_t i = 0; i < tags.size(); ++i) {
    CHECK(table.sections[i].tag == tags[i]);
    CHECK(table.sections[i].flags == 0);
    CHECK(table.sections[i].offset == file.sections[i].offset);
    CHECK(table.sections[i].stored_bytes == file.sections[i].stored.size());
    CHECK(table.sections[i].raw_bytes == file.sections[i].stored.size());
    CHECK(table.sections[i].crc == crc32(0, file.sections[i].stored));
    CHECK(table.find(tags[i]) == &table.sections[i]);
  }
  CHECK(table.bytes == file.table());
  CHECK(table.bytes == serialize_section_table(table.sections));
}

TEST_CASE("read_section_table: sections behind the blocks") {
  const TempDir dir;
  SmallFile file = small_file();
  file.add("INFO", bytes_of("{}"));
  file.section("INFO").offset = testing::kArea + (32 << 20);
  file.write(dir / "a");
  const SectionTable table = read_table(dir / "a");
  const InputFile input(dir / "a");
  CHECK(testing::text_of(read_section(input, *table.find("INFO"))) == "{}");
}

TEST_CASE("read_section_table: up to the edges of the two areas") {
  const TempDir dir;
  SmallFile file = small_old_file();
  file.add("INFO", Bytes(64));
  file.add("CLSS", Bytes{});
  file.section("INFO").offset = testing::kArea - 64;
  file.section("CLSS").offset = testing::kArea + (32 << 20);
  file.write(dir / "a");
  CHECK(read_table(dir / "a").sections.size() == 2);
}

TEST_CASE("read_section_table: an unknown tag is left alone") {
  const TempDir dir;
  SmallFile file = small_file();
  file.add("XYZ1", bytes_of("whatever"));
  file.section("XYZ1").flags = 0xFFFFFFFC;  // flags of a later time
  file.write(dir / "a");
  CHECK(read_table(dir / "a").find("XYZ1") != nullptr);
}

TEST_CASE("read_section_table: a known tag may be required") {
  const TempDir dir;
  SmallFile file = small_file();
  file.section("SIZE").flags = kSectionRequired;
  file.write(dir / "a");
  CHECK(read_table(dir / "a").find("SIZE")->flags == kSectionRequired);
}

TEST_CASE("read_section_table: 64 sections") {
  const TempDir dir;
  SmallFile file = small_old_file();
  for (int i = 0; i < 64; ++i) {
    file.add("T" + std::to_string(100 + i), bytes_of(std::to_string(i)));
  }
  file.write(dir / "a");
  const SectionTable table = read_table(dir / "a");
  REQUIRE(table.sections.size() == 64);
  CHECK(testing::text_of(read_section(InputFile(dir / "a"), table.sections[63])) == "63");
}

TEST_CASE("may_inflate_to: 1100 times and 4096") {
  CHECK(may_inflate_to(4096, 0));
  CHECK_FALSE(may_inflate_to(4097, 0));
  CHECK(may_inflate_to(5196, 1));
  CHECK_FALSE(may_inflate_to(5197, 1));
  CHECK(may_inflate_to(4096 + 1100 * std::uint64_t{1'000'000}, 1'000'000));
  CHECK_FALSE(may_inflate_to(4097 + 1100 * std::uint64_t{1'000'000}, 1'000'000));
  CHECK(may_inflate_to(1, ~std::uint64_t{0}));
}

TEST_CASE("is_known_section: the tags of the format") {
  for (const char* tag : {"HEAD", "INFO", "CLSS", "BIDX", "SIZE", "LABL", "ORDR", "PATH"}) {
    CHECK(is_known_section(tag));
  }
  CHECK_FALSE(is_known_section("head"));
  CHECK_FALSE(is_known_section(""));
}

}  // namespace
}  // namespace dts
