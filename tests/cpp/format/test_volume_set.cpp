// SPDX-License-Identifier: Apache-2.0
#include "format/volume_set.h"

#include <doctest/doctest.h>

#include "format/small_set.h"

namespace dts {
namespace {

using testing::check_corrupt;
using testing::kSetOrder;
using testing::kStoredLabels;
using testing::SmallSet;
using testing::words;

struct Fixture {
  SmallSet set;
  std::vector<std::string> paths;

  std::shared_ptr<VolumeSet> open(OpenOptions options = {}) {
    paths = set.write();
    return VolumeSet::open(paths, options);
  }
  void refuse(std::size_t volume, std::int64_t offset, const std::string& message) {
    paths = set.write();
    check_corrupt([&] { VolumeSet::open(paths); }, offset, message);
    try {
      VolumeSet::open(paths);
    } catch (const CorruptFile& error) {
      CHECK(error.path == paths[volume]);
    }
  }
};

TEST_CASE_FIXTURE(Fixture, "volume set: counts are sums, limits the largest") {
  set.files[1].header.max_pic_area = 900;
  set.files[2].header.max_pic_per_block = 7;
  set.files[1].header.version = {3, 1, 0, 0};
  for (auto& file : set.files) {
    file.header.compression_ratio = 2.0f;
    file.sections.pop_back();  // HEAD
  }
  const auto opened = open();
  const Header& header = opened->header();
  CHECK(opened->num_volumes() == 3);
  CHECK(header.num_volumes == 3);
  CHECK(header.volume_id == 0);
  CHECK(header.num_samples == 9);
  CHECK(header.num_blocks == 5);
  CHECK(header.total_blocks == 5);
  CHECK(header.block_bytes == std::uint64_t{5} << 24);
  CHECK(header.total_bytes == opened->file_bytes());
  CHECK(opened->file_bytes() == std::uint64_t{8} << 24);
  CHECK(header.compression_ratio == doctest::Approx(2.0));
  CHECK(header.max_pic_area == 900);
  CHECK(header.max_pic_per_block == 7);
  CHECK(header.version[1] == 1);
  CHECK(opened->first_block(1) == 2);
  CHECK(opened->first_sample(2) == 7);
}

TEST_CASE_FIXTURE(Fixture, "volume set: places of blocks and samples") {
  const auto opened = open();
  const std::vector<std::pair<std::size_t, std::uint64_t>> blocks = {
      {0, 0}, {0, 1}, {1, 0}, {2, 0}, {2, 1}};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto place = opened->block_place(static_cast<std::int64_t>(b));
    CHECK(std::pair{place.volume, place.index} == blocks[b]);
  }
  CHECK(opened->sample_place(4).volume == 0);
  CHECK(opened->sample_place(5).volume == 1);
  CHECK(opened->sample_place(8).volume == 2);
  CHECK(opened->sample_place(8).index == 1);
  testing::check_message<OutOfRange>([&] { opened->block_place(5); },
                                     "block 5 is out of range, the set has 5 blocks");
  testing::check_message<OutOfRange>([&] { opened->sample_place(-1); },
                                     "stored sample -1 is out of range, the set has 9");
}

TEST_CASE_FIXTURE(Fixture, "volume set: files may come in any order") {
  paths = set.write();
  const auto opened = VolumeSet::open({paths[2], paths[0], paths[1]});
  CHECK(opened->volume(0).path() == paths[0]);
  CHECK(opened->volume(2).path() == paths[2]);
  CHECK(opened->source_order() == kSetOrder);
}

TEST_CASE_FIXTURE(Fixture, "volume set: order and labels of the whole") {
  const auto opened = open();
  CHECK(opened->source_order() == kSetOrder);
  CHECK(opened->source_places() == kSetOrder);
  std::vector<std::int32_t> expected(9);
  for (std::size_t i = 0; i < 9; ++i) expected[kSetOrder[i]] = kStoredLabels[i];
  CHECK(opened->labels() == expected);
  CHECK(opened->tables().size() == 3);
  CHECK(opened->tables()[1]->sizes == std::vector<std::uint32_t>{200, 10});
}

TEST_CASE("volume set: without sections source and stored index are the same") {
  for (const bool ignore_sections : {false, true}) {
    SmallSet set(!ignore_sections);
    const auto opened = VolumeSet::open(set.write(), {.ignore_sections = ignore_sections});
    CHECK(opened->source_order() == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(opened->labels() == kStoredLabels);
  }
}

TEST_CASE_FIXTURE(Fixture, "volume set: one file alone is as it is") {
  paths = set.write();
  const auto opened = VolumeSet::open({paths[1]});
  CHECK(opened->header().num_samples == 2);
  CHECK(opened->header().volume_id == 1);
  CHECK(opened->source_order() == std::vector<std::uint32_t>{8, 2});
  CHECK(opened->source_places() == std::vector<std::uint32_t>{1, 0});
  CHECK(opened->labels() == std::vector<std::int32_t>{2, 1});
  testing::check_message<OutOfRange>([&] { opened->block_place(1); },
                                     "block 1 is out of range, the file has 1 blocks");
  testing::check_message<InvalidArgument>([] { VolumeSet::open({}); }, "no file to open");
}

TEST_CASE_FIXTURE(Fixture, "volume set: missing and repeated volumes") {
  paths = set.write();
  const auto refused = [&](const std::vector<std::string>& files, std::int64_t offset,
                           const std::string& message) {
    check_corrupt([&] { VolumeSet::open(files); }, offset, message);
  };
  refused({paths[0], paths[1]}, 56, "volume 2 of 3 is missing");
  refused({paths[0], paths[2]}, 56, "volume 1 of 3 is missing");
  refused({paths[1], paths[2]}, 56, "volume 0 of 3 is missing");
  refused({paths[0], paths[1], paths[2], paths[1]}, 60,
          "it is volume 1 of 3, and so is '" + paths[1] + "'");
}

TEST_CASE_FIXTURE(Fixture, "volume set: files that are not of one set") {
  const std::string other = ", but 5 in '" + (set.dir / "0.dts") + "': they are not of one set";
  for (auto& file : set.files) {
    file.sections.pop_back();
    file.header.num_classes = 5;
  }
  const auto reset = set.files;
  set.files[1].header.num_classes = 4;
  refuse(1, 28, "num_classes is 4" + other);
  set.files = reset;
  set.files[2].header.num_volumes = 4;
  refuse(2, 56,
         "it is volume 2 of 4, but '" + (set.dir / "0.dts") +
             "' is volume 0 of 3: they are not of one set");
  set.files = reset;
  set.files[2].header.is_training = 0;
  refuse(2, 16,
         "is_training is 0, but 1 in '" + (set.dir / "0.dts") + "': they are not of one set");
  set.files = reset;
  for (auto& file : set.files) file.header.total_blocks = 5;
  open();
  set.files[1].header.total_blocks = 6;
  refuse(1, 64,
         "total_blocks is 6, expected 1 (its own) or 5 (of the set): another set's volume is among "
         "them");
}

TEST_CASE_FIXTURE(Fixture, "volume set: sections that differ") {
  const std::string first = "'" + (set.dir / "0.dts") + "'";
  for (auto& file : set.files) file.add("CLSS", words({7}));
  open();
  set.files[1].set("CLSS", words({8}));
  refuse(1, static_cast<std::int64_t>(set.files[1].section("CLSS").offset),
         "section 'CLSS' has other class names than " + first + ": they are not of one set");
  set.files[1].section("CLSS").tag = "XXXX";
  refuse(1, -1, "it has no section 'CLSS', other than " + first);
  set.files[1].section("XXXX").tag = "CLSS";
  set.files[1].set("CLSS", words({7}));
  set.files[2].section("ORDR").tag = "XXXX";
  refuse(2, -1, "it has no section 'ORDR', other than " + first);
}

TEST_CASE_FIXTURE(Fixture, "volume set: the orders together are a permutation") {
  set.files[1].set("ORDR", words({8, 1}));
  auto opened = open();
  const auto at = static_cast<std::int64_t>(set.files[1].section("ORDR").offset);
  check_corrupt([&] { opened->source_order(); }, at + 4,
                "section 'ORDR': stored sample 1 has source index 1, which a sample of another "
                "volume has too: they are not of one set");
  set.files[1].set("ORDR", words({9, 2}));
  opened = open();
  check_corrupt([&] { opened->labels(); }, at,
                "section 'ORDR': stored sample 0 has source index 9, expected 0 .. 8 in this set");
}

TEST_CASE("volume set: pixel files have no volumes") {
  Header header;
  header.dataset_type = "MNIST";
  header.num_classes = 10;
  header.image_width = header.image_height = 28;
  header.num_channels = 1;
  header.color_type = "GRAY";
  header.num_samples = header.num_blocks = header.total_blocks = 1;
  header.header_bytes = 256;
  header.block_bytes = header.block_size = 785;
  header.block_header_size = header.pic_alignment = 0;
  const testing::TempDir dir;
  testing::patch(dir / "a.dts", 0, serialize_header(header));
  testing::set_size(dir / "a.dts", 256 + 785);
  CHECK(VolumeSet::open({dir / "a.dts"})->header().num_samples == 1);
  testing::check_message<InvalidArgument>([&] { VolumeSet::open({dir / "a.dts", dir / "a.dts"}); },
                                          "a pixel file (MNIST) has no blocks");
}

}  // namespace
}  // namespace dts
