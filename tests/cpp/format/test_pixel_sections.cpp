// SPDX-License-Identifier: Apache-2.0
#include "format/pixel_sections.h"

#include <doctest/doctest.h>

#include "format/reader.h"
#include "format/small_pixels.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_corrupt;
using testing::patch_value;
using testing::small_pixels;
using testing::small_pixels_with_sections;
using testing::SmallPixels;
using testing::TempDir;

struct Fixture {
  TempDir dir;
  std::string path = dir / "a.dts";
  SmallPixels file = small_pixels_with_sections();
  std::shared_ptr<DtsFile> open(bool ignore_sections = false) const {
    return DtsFile::open(path, {ignore_sections});
  }
  // Bytes of the whole file; the footer is the last 16.
  std::size_t size() { return file.bytes().size(); }
  void check(std::int64_t offset, const std::string& message) const {
    check_corrupt([&] { open(); }, offset, message);
    CHECK(open(true)->sections().sections.empty());
  }
};

TEST_CASE("pixel_places: from the shape alone") {
  Header header = small_pixels().header;
  header.total_bytes = header.block_bytes = 1;
  header.block_size = 2;
  const PixelPlaces places = pixel_places(header);
  CHECK(places.sample_bytes == 105);
  CHECK(places.labels == 256);
  CHECK(places.pixels() == 259);
  CHECK(places.end() == 574);
  CHECK(places.table() == 576);
}

TEST_CASE("serialize_pixel_footer: golden bytes") {
  const auto footer = serialize_pixel_footer(0x1122334455667740);
  Bytes expected = testing::bytes_of(
      "\x40\x77\x66\x55\x44\x33\x22\x11"
      "DTSX");
  expected.resize(16);
  store_le(expected.data() + 12, crc32(0, ConstByteSpan(expected).first(12)));
  CHECK(Bytes(footer.begin(), footer.end()) == expected);
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: none in a file that ends with its payload") {
  small_pixels().write(path);
  CHECK(open()->sections().sections.empty());
  CHECK(open()->sections().bytes.empty());
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: found through the footer") {
  file.write(path);
  const auto opened = open();
  const SectionTable& table = opened->sections();
  REQUIRE(table.sections.size() == 3);
  CHECK(table.sections[0].tag == "HEAD");
  CHECK(table.sections[0].offset == 768);  // 576 + 16 + 3 * 40, rounded up
  CHECK(table.bytes == testing::read_range(path, 576, 136));
  CHECK(testing::text_of(opened->section("INFO")) == "{\"name\":\"x\"}");
  CHECK(opened->section("CLSS") == file.sections[2].second);
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: the table needs no gap in front of it") {
  file.pixels = testing::noise(105 * 3, 1);
  file.header.image_width = 21;  // 63 bytes a sample and its label: 256 + 64
  file.header.image_height = 1;
  file.header.num_samples = 1;
  file.labels.resize(1);
  file.pixels.resize(63);
  REQUIRE(file.table_at() == file.payload_end());
  file.write(path);
  CHECK(open()->sections().sections.size() == 3);
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: of a table without entries") {
  file.sections = {{"ZZZZ", {}}};
  Bytes bytes = file.bytes();
  bytes.resize(576);
  const Bytes table = serialize_section_table({});
  bytes.insert(bytes.end(), table.begin(), table.end());
  const auto footer = serialize_pixel_footer(576);
  bytes.insert(bytes.end(), footer.begin(), footer.end());
  testing::patch(path, 0, bytes);
  CHECK(open()->sections().sections.empty());
  CHECK(open()->sections().bytes.size() == 16);
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: bytes behind the payload that are no footer") {
  small_pixels().write(path);
  const std::string advice = " (ignore_sections=True reads the samples without it)";
  testing::set_size(path, 575);
  check(574,
        "the file has 575 bytes, more than the 574 of 3 samples, but less than the 608 of "
        "the smallest footer" +
            advice);
  testing::set_size(path, 607);
  check(574,
        "the file has 607 bytes, more than the 574 of 3 samples, but less than the 608 of "
        "the smallest footer" +
            advice);
  testing::set_size(path, 700);
  check(692,
        "the file has 700 bytes, more than the 574 of 3 samples, so it must end with a "
        "footer, whose magic is '\\x00\\x00\\x00\\x00', expected 'DTSX'" +
            advice);
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: a footer that is cut off or followed by more") {
  const std::size_t whole = size();
  for (const std::size_t other : {whole - 1, whole - 16, whole + 1, whole + 64}) {
    file.write(path);
    testing::set_size(path, other);
    const auto error = testing::thrown<CorruptFile>([&] { open(); });
    CHECK(std::string(error.what()).find("must end with a footer") != std::string::npos);
    CHECK(open(true)->header().num_samples == 3);
  }
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: a damaged footer") {
  const std::string start =
      "the file has " + std::to_string(size()) + " bytes, more than the 574 of 3 samples, ";
  const std::string advice = " (ignore_sections=True reads the samples without it)";
  const auto footer = static_cast<std::int64_t>(size()) - 16;
  const auto place = static_cast<std::uint64_t>(footer);
  for (const std::uint64_t wrong :
       {std::uint64_t{0}, std::uint64_t{4096}, std::uint64_t{640}, ~std::uint64_t{63}}) {
    file.write(path);
    const auto bytes = serialize_pixel_footer(wrong);
    testing::patch(path, place, bytes);
    check(footer, start + "but its footer says that the section table is at " +
                      std::to_string(wrong) + ", expected 576" + advice);
  }
  file.write(path);
  patch_value(path, place, std::uint64_t{577});
  const auto error = testing::thrown<CorruptFile>([&] { open(); });
  CHECK(error.offset == footer + 12);
  CHECK(std::string(error.what()).find(start + "but the CRC-32 of its footer is 0x") == 0);
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: a damaged table") {
  file.write(path);
  patch_value(path, 576, std::uint32_t{0});
  check(576, "section table: magic is '\\x00\\x00\\x00\\x00', expected 'DTSX'");
  file.write(path);
  patch_value(path, 576 + 8, std::uint32_t{64});
  check(584, "section table: 64 sections, whose entries end at 3152, expected at most " +
                 std::to_string(size() - 16));
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: a section where it may not be") {
  const std::size_t footer = size() - 16;
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{512}, std::uint64_t{576},
                                    std::uint64_t{704}, std::uint64_t{footer + 63} / 64 * 64}) {
    file.write(path);
    Bytes table = testing::read_range(path, 576, 136);
    store_le(table.data() + 16 + 40 + 8, wrong);
    store_le(table.data() + 12, std::uint32_t{0});
    store_le(table.data() + 12, crc32(0, table));
    testing::patch(path, 576, table);
    check(576 + 16 + 40 + 8, "section 'INFO': 12 bytes at " + std::to_string(wrong) +
                                 " are out of bounds, expected inside 712 .. " +
                                 std::to_string(footer));
  }
}

TEST_CASE_FIXTURE(Fixture, "pixel sections: HEAD finds a changed header") {
  file.write(path);
  patch_value(path, 16, std::uint32_t{0});  // is_training
  const auto error = testing::thrown<CorruptFile>([&] { open(); });
  CHECK(error.offset == 768);
  CHECK(std::string(error.what()).find("section 'HEAD': CRC-32 of the file header is") == 0);
}

}  // namespace
}  // namespace dts
