// SPDX-License-Identifier: Apache-2.0
// Files cut off at every boundary there is: always CorruptFile, never anything else.
#include <doctest/doctest.h>

#include <set>

#include "format/reader.h"
#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::kArea;
using testing::kTable;
using testing::small_file;
using testing::small_old_file;
using testing::SmallFile;
using testing::TempDir;
using Ids = std::vector<std::int64_t>;

// Everything a reader does with a file.
void read_all(const std::string& path, OpenOptions options) {
  const auto file = DtsFile::open(path, options);
  file->samples();
  file->source_order();
  file->labels();
  for (const Section& section : file->sections().sections) file->section(section.tag);
  Bytes block(16 << 20);
  for (std::int64_t b = 0; b < std::int64_t{file->header().num_blocks}; ++b) {
    file->read_blocks(Ids{b}, block, true, file->handle());
    file->index_samples(block, Ids{b});
  }
}

// First and last byte of all that the file is made of, and their neighbours.
std::set<std::uint64_t> boundaries(SmallFile& file, std::uint64_t file_bytes) {
  std::set<std::uint64_t> at;
  const auto add = [&](std::uint64_t offset) {
    for (const std::uint64_t near : {offset - 1, offset, offset + 1}) {
      if (near < file_bytes) at.insert(near);
    }
  };
  for (std::uint64_t i = 0; i <= 145; ++i) at.insert(i);
  add(kTable);
  for (std::uint64_t i = 0; i <= file.sections.size(); ++i) add(kTable + 16 + 40 * i);
  for (const auto& section : file.sections) {
    add(section.offset);
    add(section.offset + section.stored.size());
  }
  add(kArea);
  for (std::uint32_t b = 0; b < file.blocks.size(); ++b) {
    const std::uint64_t start = file.block_start(b);
    add(start);
    add(start + 12);
    add(start + 12 + 12 * file.blocks[b].size());
    add(start + file.header.block_header_size);
    add(start + file.block_bytes(b).size());
    add(start + file.header.block_size);
  }
  add(file_bytes);
  return at;
}

TEST_CASE("a file cut off at any boundary") {
  const TempDir dir;
  const std::string path = dir / "a.dts";
  for (const char* kind : {"old", "sections", "sections behind the blocks"}) {
    CAPTURE(kind);
    SmallFile file = std::string(kind) == "old" ? small_old_file() : small_file();
    if (std::string(kind) == "sections behind the blocks") {
      std::uint64_t at = kArea + (32 << 20);
      for (auto& section : file.sections) {
        section.offset = at;
        at += 128;
      }
    }
    file.write(path);
    const std::uint64_t file_bytes = testing::size_of(path);
    read_all(path, {});
    const auto cuts = boundaries(file, file_bytes);
    REQUIRE(cuts.size() > 170);
    for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {  // the file only gets shorter
      CAPTURE(*cut);
      testing::set_size(path, *cut);
      const auto error = testing::thrown<CorruptFile>([&] { read_all(path, {}); });
      CHECK(error.path == path);
      CHECK(error.offset >= 0);
      if (*cut < kArea + (32 << 20)) {
        const auto again =
            testing::thrown<CorruptFile>([&] { read_all(path, {.ignore_sections = true}); });
        CHECK(again.offset <= static_cast<std::int64_t>(*cut));
      }
    }
    REQUIRE(::unlink(path.c_str()) == 0);
  }
}

TEST_CASE("a file cut off after it was opened, read by a handle that does not look") {
  const TempDir dir;
  small_file().write(dir / "a");
  const auto file = DtsFile::open(dir / "a");
  testing::set_size(dir / "a", 4360);
  testing::check_corrupt([&] { file->samples(); }, 4360,
                         "the file ends at byte 4360, but 16 bytes at offset 4352 are expected");
}

}  // namespace
}  // namespace dts
