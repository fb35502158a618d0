// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "format/reader.h"
#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_corrupt;
using testing::small_file;
using testing::small_old_file;
using testing::SmallFile;
using testing::TempDir;
using testing::words;

struct Fixture {
  TempDir dir;
  SmallFile file = small_file();
  std::string path = dir / "a.dts";
  std::shared_ptr<DtsFile> open(OpenOptions options = {}) {
    file.write(path);
    return DtsFile::open(path, options);
  }
  // The message about a section, at `at` bytes into its content.
  template <class Action>
  void check(const Action& action, const std::string& tag, std::uint64_t at,
             const std::string& message) {
    check_corrupt(action, static_cast<std::int64_t>(file.section(tag).offset + at),
                  "section '" + tag + "': " + message);
  }
};

void check_places(const SmallFile& file, const SampleTable& table) {
  CHECK(table.first_sample == std::vector<std::uint64_t>{0, 3, 5});
  CHECK(table.sizes == std::vector<std::uint32_t>{100, 0, 64, 300, 65});
  const std::uint64_t a = file.block_start(0) + 4096;
  const std::uint64_t b = file.block_start(1) + 4096;
  CHECK(table.offsets == std::vector<std::uint64_t>{a, a + 128, a + 128, b, b + 320});
}

TEST_CASE_FIXTURE(Fixture, "samples: from sections") {
  const auto opened = open();
  check_places(file, opened->samples());
  CHECK(opened->samples().block_crcs ==
        std::vector<std::int64_t>{file.block_crc(0), file.block_crc(1)});
  CHECK(opened->samples().stored_labels.empty());
  CHECK(&opened->samples() == &opened->samples());
}

TEST_CASE_FIXTURE(Fixture, "samples: from the block headers") {
  for (const bool old : {false, true}) {
    if (old) file = small_old_file();
    const auto opened = open({.ignore_sections = true});
    check_places(file, opened->samples());
    CHECK(opened->samples().block_crcs == std::vector<std::int64_t>{-1, -1});
    CHECK(opened->samples().stored_labels == std::vector<std::int32_t>{2, 0, 2, 0, 1});
    CHECK(opened->source_order() == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
    CHECK(opened->labels() == std::vector<std::int32_t>{2, 0, 2, 0, 1});
  }
}

TEST_CASE_FIXTURE(Fixture, "source order and labels: from sections") {
  const auto opened = open();
  CHECK(opened->source_order() == testing::kSmallOrder);
  CHECK(opened->labels() == std::vector<std::int32_t>{0, 0, 1, 2, 2});
}

TEST_CASE_FIXTURE(Fixture, "labels: without LABL they come from the blocks, in source order") {
  file.section("LABL").tag = "XXXX";
  const auto opened = open();
  CHECK(opened->labels() == std::vector<std::int32_t>{0, 0, 1, 2, 2});
}

TEST_CASE_FIXTURE(Fixture, "samples: without BIDX the blocks are asked") {
  file.section("BIDX").tag = "XXXX";
  const auto opened = open();
  check_places(file, opened->samples());
  CHECK(opened->samples().block_crcs == std::vector<std::int64_t>{-1, -1});
  CHECK(opened->labels() == std::vector<std::int32_t>{0, 0, 1, 2, 2});
}

TEST_CASE_FIXTURE(Fixture, "source order: without ORDR source index is stored index") {
  file.section("ORDR").tag = "XXXX";
  CHECK(open()->source_order() == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
}

TEST_CASE("tables of a file without samples") {
  const TempDir dir;
  SmallFile file;
  for (const bool old : {true, false}) {
    if (!old) {
      file.add_tables({});
      file.add_head();
    }
    file.write(dir / "a");
    const auto opened = DtsFile::open(dir / "a");
    CHECK(opened->samples().first_sample == std::vector<std::uint64_t>{0});
    CHECK(opened->samples().sizes.empty());
    CHECK(opened->source_order().empty());
    CHECK(opened->labels().empty());
    CHECK(opened->file_crc({}) == 0);
  }
}

TEST_CASE_FIXTURE(Fixture, "tables of the wrong length, before they are read") {
  for (const std::string tag : {"BIDX", "SIZE", "LABL", "ORDR"}) {
    const Bytes right = file.section(tag).stored;
    for (const std::size_t size : {std::size_t{0}, right.size() - 4, right.size() + 4}) {
      Bytes content = right;
      content.resize(size);
      file = small_file();
      file.set(tag, content);
      const auto opened = open();
      check(
          [&] {
            opened->samples();
            opened->labels();
            opened->source_order();
          },
          tag, 0,
          std::to_string(size) + " bytes, expected " + std::to_string(right.size()) +
              " for 2 blocks and 5 samples");
    }
    file = small_file();
  }
}

TEST_CASE_FIXTURE(Fixture, "a damaged table is told by its CRC, each time it is asked for") {
  file.write(path);
  testing::patch_value(path, file.section("SIZE").offset, std::uint32_t{7});
  const auto opened = DtsFile::open(path);
  for (int i = 0; i < 2; ++i) {
    const auto error = testing::thrown<CorruptFile>([&] { opened->samples(); });
    CHECK(std::string(error.what()).starts_with("section 'SIZE': CRC-32 is 0x"));
    CHECK(error.path == path);
  }
}

TEST_CASE_FIXTURE(Fixture, "BIDX: counts that can't be") {
  const auto check_counts = [&](std::uint32_t a, std::uint32_t b, std::uint64_t at,
                                const std::string& message) {
    file.set("BIDX", words({a, 0, b, 0}));
    const auto opened = open();
    check([&] { opened->samples(); }, "BIDX", at, message);
  };
  check_counts(0, 5, 0, "block 0 has 0 samples, expected 1 .. 340");
  check_counts(3, 341, 8, "block 1 has 341 samples, expected 1 .. 340");
  check_counts(3, 0xFFFFFFFF, 8, "block 1 has 4294967295 samples, expected 1 .. 340");
  check_counts(3, 3, 0, "the blocks hold 6 samples, but num_samples is 5");
  check_counts(1, 1, 0, "the blocks hold 2 samples, but num_samples is 5");
}

TEST_CASE_FIXTURE(Fixture, "num_samples that lies, with and without sections") {
  file = small_old_file();
  file.header.num_samples = 4;
  check_corrupt([&] { open()->samples(); }, 52, "num_samples is 4, but the blocks hold 5");
  const Bytes order = words({3, 1, 4, 0});
  file.add_tables(testing::kSmallOrder);
  file.set("SIZE", words({100, 0, 64, 300}));
  file.add_head();
  const auto opened = open();
  check([&] { opened->samples(); }, "BIDX", 0, "the blocks hold 5 samples, but num_samples is 4");
}

TEST_CASE_FIXTURE(Fixture, "SIZE: samples that leave their block") {
  const std::uint32_t room = (16 << 20) - 4096;
  file.set("SIZE", words({100, 0, 64, room, 0}));
  CHECK(open()->samples().offsets[4] == file.block_start(2));
  file.set("SIZE", words({100, 0, 64, room - 64, 65}));
  auto opened = open();
  check([&] { opened->samples(); }, "SIZE", 16,
        "stored sample 4 has 65 bytes at 16777152 of block 1, behind the block's end 16777216");
  file.set("SIZE", words({100, 0, 0xFFFFFFFF, 300, 65}));
  opened = open();
  check([&] { opened->samples(); }, "SIZE", 8,
        "stored sample 2 has 4294967295 bytes at 4224 of block 0, behind the block's end 16777216");
  file.set("SIZE", words({0xFFFFFFC0, 0xFFFFFFC0, 64, 300, 65}));
  opened = open();
  check([&] { opened->samples(); }, "SIZE", 0,
        "stored sample 0 has 4294967232 bytes at 4096 of block 0, behind the block's end 16777216");
}

TEST_CASE_FIXTURE(Fixture, "LABL: labels outside of the classes") {
  for (const auto& [label, text] :
       {std::pair<std::uint32_t, std::string>{3, "3"}, {0xFFFFFFFF, "-1"}}) {
    file.set("LABL", words({0, 0, 1, label, 2}));
    const auto opened = open();
    check([&] { opened->labels(); }, "LABL", 12, "label 3 is " + text + ", expected 0 .. 2");
  }
}

TEST_CASE_FIXTURE(Fixture, "ORDR: no permutation") {
  file.set("ORDR", words({3, 1, 4, 0, 5}));
  auto opened = open();
  check([&] { opened->source_order(); }, "ORDR", 16,
        "no permutation: stored sample 4 has source index 5, expected 0 .. 4");
  file.set("ORDR", words({3, 1, 4, 0, 3}));
  opened = open();
  check([&] { opened->source_order(); }, "ORDR", 16,
        "no permutation: stored sample 4 has source index 3, which another has too");
  file.set("ORDR", words({0xFFFFFFFF, 1, 4, 0, 3}));
  opened = open();
  check([&] { opened->source_order(); }, "ORDR", 0,
        "no permutation: stored sample 0 has source index 4294967295, expected 0 .. 4");
}

SmallFile volume(const std::vector<std::uint32_t>& order) {
  SmallFile file = small_old_file();
  file.header.num_volumes = 4;
  file.header.volume_id = 2;
  file.add_tables(order);
  file.add_head();
  return file;
}

TEST_CASE_FIXTURE(Fixture, "ORDR of a volume: distinct indices into the set") {
  const std::vector<std::uint32_t> order = {4'000'000'000, 7, 900, 12, 8};
  file = volume(order);
  const auto opened = open();
  CHECK(opened->source_order() == order);
  // Rising source index: 7, 8, 12, 900, 4e9, which are stored samples 1, 4, 3, 2, 0.
  CHECK(opened->labels() == std::vector<std::int32_t>{0, 1, 0, 2, 2});
  Bytes out(32 << 20);
  opened->read_blocks(std::vector<std::int64_t>{0, 1}, out, true, opened->handle());
}

TEST_CASE_FIXTURE(Fixture, "ORDR of a volume: an index twice") {
  file = volume({9, 7, 900, 7, 8});
  const auto opened = open();
  check([&] { opened->source_order(); }, "ORDR", 0, "source index 7 stands for two stored samples");
}

TEST_CASE_FIXTURE(Fixture, "LABL of a volume that disagrees with a block") {
  file = volume({90, 7, 900, 12, 8});
  file.set("LABL", words({0, 1, 0, 2, 0}));
  const auto opened = open();
  Bytes out(16 << 20);
  check_corrupt(
      [&] { opened->read_blocks(std::vector<std::int64_t>{0}, out, true, opened->handle()); },
      static_cast<std::int64_t>(file.block_start(0) + 12 + 2 * 12 + 8),
      "block 0 (stored samples 0..2): sample 2 has label 2, expected 0 as section 'LABL' says");
}

}  // namespace
}  // namespace dts
