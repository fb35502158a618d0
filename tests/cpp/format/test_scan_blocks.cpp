// SPDX-License-Identifier: Apache-2.0
#include "format/scan_blocks.h"

#include <doctest/doctest.h>

#include <atomic>

#include "format/small_file.h"

namespace dts {
namespace {

using testing::check_corrupt;
using testing::noise;
using testing::patch_value;
using testing::small_old_file;
using testing::SmallFile;
using testing::TempDir;

// Twelve blocks of one to three samples.
SmallFile many_blocks() {
  SmallFile file = small_old_file();
  file.blocks.clear();
  file.header.num_samples = 0;
  for (std::uint32_t b = 0; b < 12; ++b) {
    file.blocks.emplace_back();
    for (std::uint32_t i = 0; i <= b % 3; ++i) {
      file.blocks.back().push_back({noise(10 * b + i, b), static_cast<std::int32_t>(i)});
      ++file.header.num_samples;
    }
  }
  file.header.num_blocks = 12;
  file.header.block_bytes = 12 * (16 << 20);
  return file;
}

std::vector<std::vector<SlotMeta>> scan(const std::string& path, const SmallFile& file) {
  return scan_blocks(InputFile(path), file.header, [&path] { return InputFile(path); });
}

TEST_CASE("scan_blocks: every slot of every block") {
  const TempDir dir;
  SmallFile file = many_blocks();
  file.write(dir / "a");
  const auto blocks = scan(dir / "a", file);
  REQUIRE(blocks.size() == 12);
  for (std::uint32_t b = 0; b < 12; ++b) {
    REQUIRE(blocks[b].size() == b % 3 + 1);
    std::uint32_t offset = 4096;
    for (std::uint32_t i = 0; i <= b % 3; ++i) {
      CHECK(blocks[b][i].offset == offset);
      CHECK(blocks[b][i].size == 10 * b + i);
      CHECK(blocks[b][i].label == static_cast<std::int32_t>(i));
      offset += (10 * b + i + 63) / 64 * 64;
    }
  }
}

TEST_CASE("scan_blocks: an index longer than the first read") {
  const TempDir dir;
  SmallFile file = small_old_file();
  file.header.compress_level = 1;
  file.header.block_header_size = 16384;
  file.blocks = {std::vector<testing::SmallSample>(1364, {noise(20, 1), 2}),
                 std::vector<testing::SmallSample>(341, {noise(30, 2), 1})};
  file.header.num_samples = 1705;
  file.write(dir / "a");
  const auto blocks = scan(dir / "a", file);
  REQUIRE(blocks[0].size() == 1364);
  REQUIRE(blocks[1].size() == 341);
  CHECK(blocks[0][1363].offset == 16384 + 1363 * 64);
  CHECK(blocks[1][340].size == 30);
  CHECK(blocks[1][340].label == 1);
}

TEST_CASE("scan_blocks: empty blocks of old files, and none at all") {
  const TempDir dir;
  SmallFile file = small_old_file();
  file.blocks[0].clear();
  file.header.num_samples = 2;
  file.write(dir / "a");
  CHECK(scan(dir / "a", file)[0].empty());
  file.blocks.clear();
  file.header.num_samples = file.header.num_blocks = 0;
  file.header.block_bytes = 0;
  file.write(dir / "b");
  CHECK(scan(dir / "b", file).empty());
}

TEST_CASE("scan_blocks: num_samples that lies") {
  const TempDir dir;
  SmallFile file = many_blocks();
  file.write(dir / "a");
  file.header.num_samples = 25;
  check_corrupt([&] { scan(dir / "a", file); }, 52, "num_samples is 25, but the blocks hold 24");
  file.header.num_samples = 23;
  check_corrupt([&] { scan(dir / "a", file); }, 52, "num_samples is 23, but the blocks hold 24");
}

TEST_CASE("scan_blocks: of several bad blocks the first is told, each time") {
  const TempDir dir;
  SmallFile file = many_blocks();
  file.write(dir / "a");
  for (const std::uint32_t b : {11, 10, 7, 5}) {
    patch_value(dir / "a", file.block_start(b) + 4, std::uint32_t{99});
  }
  for (int i = 0; i < 20; ++i) {
    check_corrupt([&] { scan(dir / "a", file); },
                  static_cast<std::int64_t>(file.block_start(5) + 4),
                  "block 5: it says that it is block 99");
  }
}

TEST_CASE("scan_blocks: a handle that can't be opened") {
  const TempDir dir;
  SmallFile file = many_blocks();
  file.write(dir / "a");
  std::atomic<int> num_tries{0};
  const auto refuse = [&]() -> InputFile {
    ++num_tries;
    throw IoError(EMFILE, "a", "opening for reading");
  };
  try {
    const auto blocks = scan_blocks(InputFile(dir / "a"), file.header, refuse);
    CHECK(num_tries == 0);  // a machine with one processor
  } catch (const IoError& error) {
    CHECK(error.code == EMFILE);
    CHECK(num_tries >= 1);
  }
}

}  // namespace
}  // namespace dts
