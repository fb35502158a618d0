// SPDX-License-Identifier: Apache-2.0
#include "format/pixel_reader.h"

#include <doctest/doctest.h>

#include "format/small_file.h"
#include "format/small_pixels.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_corrupt;
using testing::check_message;
using testing::small_pixels;
using testing::small_pixels_with_sections;
using testing::SmallPixels;
using testing::TempDir;
using Ids = std::vector<std::int64_t>;

struct Fixture {
  TempDir dir;
  std::string path = dir / "a.dts";
  SmallPixels file = small_pixels_with_sections();
  Ids labels = Ids(3, -1);
  Bytes pixels = Bytes(315);

  void read(bool check) {
    const auto opened = DtsFile::open(path);
    read_pixels(*opened, labels, pixels, check, opened->handle());
  }
};

TEST_CASE_FIXTURE(Fixture, "read_pixels: labels and pixels of new and old files") {
  for (SmallPixels& each : std::vector<SmallPixels>{file, small_pixels()}) {
    each.write(path);
    for (const bool check : {true, false}) {
      labels.assign(3, -1);
      pixels.assign(315, std::byte{0});
      read(check);
      CHECK(labels == Ids{2, 0, 1});
      CHECK(pixels == each.pixels);
    }
    std::filesystem::remove(path);
  }
}

TEST_CASE_FIXTURE(Fixture, "read_pixels: sizes in old headers are not trusted") {
  SmallPixels old = small_pixels();
  old.header.total_bytes = 256 + 3 * 2353;
  old.header.block_bytes = old.header.block_size = 3 * 2353;
  old.write(path);
  read(true);
  CHECK(pixels == old.pixels);
}

TEST_CASE_FIXTURE(Fixture, "read_pixels: one wrong byte anywhere behind the header") {
  const Bytes whole = file.bytes();
  // Behind the payload a reader that looks at sections says more, so they are left out here.
  for (std::size_t at = 256; at < whole.size(); ++at) {
    Bytes bytes = whole;
    bytes[at] ^= std::byte{0x40};
    testing::patch(path, 0, bytes);
    const auto opened = DtsFile::open(path, {true});
    const auto error = testing::thrown<CorruptFile>(
        [&] { read_pixels(*opened, labels, pixels, true, opened->handle()); });
    REQUIRE(std::string(error.what()).find("the CRC-32 of all behind the header is 0x") == 0);
    REQUIRE(error.offset == -1);
  }
}

TEST_CASE_FIXTURE(Fixture, "read_pixels: a wrong pixel passes where it is not checked") {
  file.write(path);
  testing::patch_value(path, 300, std::uint8_t{1});
  read(false);
  CHECK(pixels[300 - 259] == std::byte{1});
}

TEST_CASE_FIXTURE(Fixture, "labels that are no class") {
  file.labels[1] = std::byte{3};
  file.write(path);
  const std::string message = "label 1 is 3, expected 0 .. 2";
  check_corrupt([&] { read(true); }, 257, message);
  check_corrupt([&] { read(false); }, 257, message);
  check_corrupt([&] { DtsFile::open(path)->labels(); }, 257, message);
}

TEST_CASE_FIXTURE(Fixture, "read_pixels: memory of another size, and other files") {
  file.write(path);
  labels.resize(2);
  check_message<InvalidArgument>([&] { read(true); }, "labels has room for 2, expected 3");
  labels.resize(3);
  pixels.resize(316);
  check_message<InvalidArgument>([&] { read(true); }, "pixels has room for 316, expected 315");
  std::filesystem::remove(path);
  testing::small_file().write(path);
  check_message<InvalidArgument>([&] { read(true); }, "a file of blocks has no pixels");
}

TEST_CASE_FIXTURE(Fixture, "a pixel file that changed or was cut off after it was opened") {
  file.write(path);
  const auto opened = DtsFile::open(path);
  testing::set_size(path, 500);
  const std::string message = "the file changed since it was opened: it has 500 bytes, expected " +
                              std::to_string(file.bytes().size()) + "; open it again";
  check_corrupt([&] { read_pixels(*opened, labels, pixels, true, opened->handle()); }, -1, message);
  check_corrupt([&] { opened->labels(); }, -1, message);
}

TEST_CASE_FIXTURE(Fixture, "the tables of a pixel file: stored order is source order") {
  // Sections that only files of blocks have say nothing here.
  file.sections.push_back({"ORDR", testing::words({2, 1, 0})});
  file.sections.push_back({"LABL", testing::words({1, 1, 1})});
  file.sections.push_back({"SIZE", testing::words({1, 1, 1})});
  file.sections.push_back({"BIDX", testing::words({3, 0})});
  file.write(path);
  const auto opened = DtsFile::open(path);
  REQUIRE(opened->sections().sections.size() == 7);
  CHECK(opened->samples().offsets == std::vector<std::uint64_t>{259, 364, 469});
  CHECK(opened->samples().sizes == std::vector<std::uint32_t>{105, 105, 105});
  CHECK(opened->samples().block_crcs.empty());
  CHECK(opened->source_order() == std::vector<std::uint32_t>{0, 1, 2});
  CHECK(opened->labels() == std::vector<std::int32_t>{2, 0, 1});
}

TEST_CASE_FIXTURE(Fixture, "single samples of a pixel file") {
  file.write(path);
  const auto opened = DtsFile::open(path);
  const Ids ids = {2, 0, 2};
  Ids offsets(3);
  Bytes out(opened->plan_samples(ids, offsets));
  opened->read_samples(ids, offsets, out, opened->handle());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto first = file.pixels.begin() + 105 * static_cast<std::ptrdiff_t>(ids[i]);
    const auto found = out.begin() + static_cast<std::ptrdiff_t>(offsets[i]);
    CHECK(Bytes(found, found + 105) == Bytes(first, first + 105));
  }
  CHECK_THROWS_AS(opened->plan_samples(Ids{3}, std::span(offsets).first(1)), OutOfRange);
}

TEST_CASE_FIXTURE(Fixture, "file_crc of a pixel file") {
  file.write(path);
  const auto opened = DtsFile::open(path);
  CHECK(opened->file_crc({}) == file.header.crc_code);
}

TEST_CASE_FIXTURE(Fixture, "pixel_samples: a sample of 4 GiB") {
  Header header = small_pixels().header;
  header.image_width = header.image_height = 65535;
  header.num_samples = 0;
  check_message<InvalidArgument>([&] { pixel_samples(header); },
                                 "a sample of this pixel file has 12884508675 bytes, expected "
                                 "less than 4 GiB");
}

}  // namespace
}  // namespace dts
