// SPDX-License-Identifier: Apache-2.0
// Tables that lie: each is refused with a message that names the section.
#include <doctest/doctest.h>

#include <functional>

#include "format/reader.h"
#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_corrupt;
using testing::entry_field;
using testing::kArea;
using testing::kTable;
using testing::patch_table;
using testing::patch_value;
using testing::small_file;
using testing::SmallFile;
using testing::TempDir;

struct Fixture {
  TempDir dir;
  SmallFile file = small_file();
  std::string path = dir / "a.dts";
  void write() { file.write(path); }
  // Sets one field of a section's entry; the table's CRC stays right.
  template <class T>
  void set(const std::string& tag, std::uint64_t field, T value) {
    write();
    patch_table(path, entry_field(file, tag, field), value);
  }
  void check(std::uint64_t table_offset, const std::string& message) const {
    check_corrupt([&] { DtsFile::open(path); }, static_cast<std::int64_t>(kTable + table_offset),
                  message);
  }
  void check_entry(const std::string& tag, std::uint64_t field, const std::string& message) const {
    check(entry_field(file, tag, field), "section '" + tag + "': " + message);
  }
};

TEST_CASE_FIXTURE(Fixture, "section table: not a table, not zeros") {
  write();
  patch_value(path, kTable, 'X');
  check(0, "section table: magic is 'XTSX', expected 'DTSX' or zeros");
  testing::patch(path, kTable, Bytes(16));
  patch_value(path, kTable + 15, char{1});  // the last of the sixteen bytes counts too
  check(0, "section table: magic is '\\x00\\x00\\x00\\x00', expected 'DTSX' or zeros");
}

TEST_CASE_FIXTURE(Fixture, "section table: another version") {
  write();
  patch_table(path, 4, std::uint32_t{2});
  check(4,
        "section table: version is 2, this reader knows 1 (ignore_sections=True reads without it)");
}

TEST_CASE_FIXTURE(Fixture, "section table: too many sections") {
  write();
  patch_value(path, kTable + 8, std::uint32_t{65});
  check(8, "section table: 65 sections, expected at most 64");
  patch_value(path, kTable + 8, std::uint32_t{0xFFFFFFFF});
  check(8, "section table: 4294967295 sections, expected at most 64");
}

TEST_CASE_FIXTURE(Fixture, "section table: a wrong CRC, wherever the change is") {
  write();
  const auto right = load_le<std::uint32_t>(testing::read_range(path, kTable + 12, 4).data());
  for (const std::uint64_t at :
       {std::uint64_t{13}, entry_field(file, "BIDX", 0), entry_field(file, "HEAD", 39)}) {
    const Bytes before = testing::read_range(path, kTable + at, 1);
    patch_value(path, kTable + at, static_cast<std::uint8_t>(~static_cast<int>(before[0])));
    const auto error = testing::thrown<CorruptFile>([&] { DtsFile::open(path); });
    CHECK(std::string(error.what()).starts_with("section table: CRC-32 is 0x"));
    CHECK(error.offset == kTable + 12);
    if (at != 13) CHECK(std::string(error.what()).find("expected 0x") != std::string::npos);
    testing::patch(path, kTable + at, before);
  }
  CHECK(DtsFile::open(path)->sections().sections.size() == 5);
  CHECK(right == load_le<std::uint32_t>(testing::read_range(path, kTable + 12, 4).data()));
}

TEST_CASE_FIXTURE(Fixture, "section: named twice") {
  file.add("SIZE", Bytes(4));
  write();
  check(16 + 40 * 5, "section 'SIZE': the table names it twice");
}

TEST_CASE_FIXTURE(Fixture, "section: an unknown tag named twice") {
  file.add("XYZ1", Bytes(4));
  file.add("XYZ1", Bytes(4));
  write();
  check(16 + 40 * 6, "section 'XYZ1': the table names it twice");
}

TEST_CASE_FIXTURE(Fixture, "section: required but unknown") {
  file.add("XYZ1", Bytes(4));
  file.section("XYZ1").flags = kSectionRequired;
  write();
  check_entry("XYZ1", 4,
              "the file can't be read without it, but this reader does not know it; update "
              "torch_dts");
}

TEST_CASE_FIXTURE(Fixture, "section: a tag that does not print") {
  set("SIZE", 0, std::uint32_t{0x00FF4153});
  check(entry_field(file, "SIZE", 0),
        "section 'SA\\xff\\x00': the tag is not four printable characters");
}

TEST_CASE_FIXTURE(Fixture, "section: flags of a known tag") {
  set("SIZE", 4, std::uint32_t{4});
  check_entry("SIZE", 4, "flags are 0x00000004, expected only bits 0 and 1");
}

TEST_CASE_FIXTURE(Fixture, "section: the reserved field") {
  set("SIZE", 36, std::uint32_t{1});
  check_entry("SIZE", 36, "the reserved field is not zero");
}

TEST_CASE_FIXTURE(Fixture, "section: not aligned") {
  set("SIZE", 8, std::uint64_t{8192 + 32});
  check_entry("SIZE", 8, "it starts at 8224, expected a multiple of 64");
}

TEST_CASE_FIXTURE(Fixture, "section: out of bounds") {
  const std::string bounds = ", expected inside 4312 .. 16777216 or 50331648 .. 50331648";
  struct Case {
    const char* what;
    std::uint64_t offset;
    std::uint64_t stored;
  };
  for (const Case& c : std::vector<Case>{
           {"over the file header", 0, 20},
           {"over the table", 4288, 20},
           {"into the first block", kArea - 64, 65},
           {"inside of a block", kArea, 20},
           {"just before the end of the blocks", kArea + (32 << 20) - 64, 20},
           {"behind the end of the file", kArea + (32 << 20), 1},
           {"an offset that wraps with the size", ~std::uint64_t{63}, 64},
           {"a size that wraps with the offset", 8192, ~std::uint64_t{0} - 8191},
           {"a size beyond the file", 8192, std::uint64_t{1} << 40},
       }) {
    CAPTURE(c.what);
    write();
    patch_table(path, entry_field(file, "SIZE", 16), c.stored);
    patch_table(path, entry_field(file, "SIZE", 24), c.stored);
    patch_table(path, entry_field(file, "SIZE", 8), c.offset);
    check_entry("SIZE", 8,
                std::to_string(c.stored) + " bytes at " + std::to_string(c.offset) +
                    " are out of bounds" + bounds);
  }
}

TEST_CASE_FIXTURE(Fixture, "section: two share bytes") {
  write();
  const std::uint64_t bidx = file.section("BIDX").offset;
  patch_table(path, entry_field(file, "SIZE", 8), bidx);
  const std::string first = "section '" + std::string("SIZE");
  const auto error = testing::thrown<CorruptFile>([&] { DtsFile::open(path); });
  CHECK(error.offset == static_cast<std::int64_t>(bidx));
  CHECK(std::string(error.what()).find("overlaps section '") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "section: one reaches into the next") {
  write();
  const std::uint64_t next = file.section("SIZE").offset;
  const std::uint64_t size = next - file.section("BIDX").offset + 1;
  patch_table(path, entry_field(file, "BIDX", 16), size);
  patch_table(path, entry_field(file, "BIDX", 24), size);
  check_corrupt([&] { DtsFile::open(path); }, static_cast<std::int64_t>(next),
                "section 'SIZE' at " + std::to_string(next) +
                    " overlaps section 'BIDX', which "
                    "ends at " +
                    std::to_string(next + 1));
}

TEST_CASE_FIXTURE(Fixture, "section: raw bytes beyond reason") {
  SUBCASE("4 GiB and one") {
    set("SIZE", 24, (std::uint64_t{1} << 32) + 1);
    check_entry("SIZE", 24, "4294967297 raw bytes, expected at most 4294967296");
  }
  SUBCASE("not compressed, but of two lengths") {
    set("SIZE", 24, std::uint64_t{21});
    check_entry("SIZE", 24, "21 raw bytes, expected 20 as it is not compressed");
  }
  SUBCASE("more than zlib can make of it") {
    file.section("SIZE").flags = kSectionZlib;
    set("SIZE", 24, std::uint64_t{20 * 1100 + 4097});
    check_entry("SIZE", 24, "26097 raw bytes, more than 20 stored bytes can hold");
  }
}

TEST_CASE_FIXTURE(Fixture, "section HEAD: a header that was changed") {
  write();
  patch_value(path, 16, std::uint32_t{0});  // is_training: nothing else tells
  const auto header = testing::read_range(path, 0, 140);
  const auto original = serialize_header(file.header);
  char text[100];
  std::snprintf(text, sizeof(text), "CRC-32 of the file header is 0x%08x, expected 0x%08x",
                crc32(0, header), crc32(0, ConstByteSpan(original).first(140)));
  check_corrupt([&] { DtsFile::open(path); },
                static_cast<std::int64_t>(file.section("HEAD").offset),
                std::string("section 'HEAD': ") + text);
}

TEST_CASE_FIXTURE(Fixture, "section HEAD: crc_code is not covered") {
  write();
  patch_value(path, 140, std::uint32_t{0x12345678});
  CHECK(DtsFile::open(path)->header().crc_code == 0x12345678);
}

TEST_CASE_FIXTURE(Fixture, "section HEAD: of another length, or damaged") {
  SUBCASE("length") {
    file.set("HEAD", Bytes(8));
    write();
    check_corrupt([&] { DtsFile::open(path); },
                  static_cast<std::int64_t>(file.section("HEAD").offset),
                  "section 'HEAD': 8 bytes, expected 4");
  }
  SUBCASE("damaged") {
    write();
    const std::uint64_t at = file.section("HEAD").offset;
    patch_value(path, at, std::uint32_t{0});
    check_corrupt([&] { DtsFile::open(path); }, static_cast<std::int64_t>(at),
                  "section 'HEAD': CRC-32 is 0x2144df1c, expected " +
                      [&] {
                        char text[11];
                        std::snprintf(text, sizeof(text), "0x%08x",
                                      crc32(0, file.section("HEAD").stored));
                        return std::string(text);
                      }());
  }
}

TEST_CASE_FIXTURE(Fixture, "ignore_sections: every bad table has a way around it") {
  write();
  patch_value(path, kTable, 'X');
  const auto opened = DtsFile::open(path, {.ignore_sections = true});
  CHECK(opened->sections().sections.empty());
  CHECK(opened->sections().bytes.empty());
  CHECK(opened->samples().sizes == std::vector<std::uint32_t>{100, 0, 64, 300, 65});
}

}  // namespace
}  // namespace dts
