// SPDX-License-Identifier: Apache-2.0
// What a finished file holds, from its raw bytes; test_writer_errors.cpp has the rest.
#include "format/writer.h"

#include <doctest/doctest.h>

#include <thread>

#include "base/crc32.h"
#include "base/file_calls.h"
#include "format/finish.h"
#include "format/reader.h"
#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::kArea;
using testing::kTable;
using testing::read_range;
using testing::small_old_file;
using testing::SmallFile;
using testing::TempDir;
using testing::words;
using Numbers = std::vector<std::int64_t>;

constexpr std::uint64_t kBlock = 16 << 20;

Header start_header(const SmallFile& file) {
  Header header;
  header.is_training = 0;
  header.num_classes = 3;
  header.num_blocks = static_cast<std::uint32_t>(file.blocks.size());
  header.block_size = file.header.block_size;
  header.block_header_size = file.header.block_header_size;
  header.compress_level = file.header.compress_level;
  return header;
}

// Makes block `id` as convert does and hands it to the writer.
void write_block(Writer& writer, const SmallFile& file, std::uint32_t id) {
  Bytes block(file.header.block_size, std::byte{0x55});
  Numbers sizes;
  Numbers labels;
  std::size_t at = file.header.block_header_size;
  for (const auto& sample : file.blocks[id]) {
    std::copy(sample.bytes.begin(), sample.bytes.end(),
              block.begin() + static_cast<std::ptrdiff_t>(at));
    at += (sample.bytes.size() + 63) / 64 * 64;
    sizes.push_back(static_cast<std::int64_t>(sample.bytes.size()));
    labels.push_back(sample.label);
  }
  const std::uint32_t crc = finish_block(block, file.header.compress_level, id,
                                         file.header.block_header_size, sizes, labels);
  writer.write_block(id, block, crc, sizes);
}

void add_tables(Writer& writer) {
  writer.add_section("ORDR", 0, words(testing::kSmallOrder), 20);
  writer.add_section("LABL", 0, words({0, 0, 1, 2, 2}), 20);
}

std::uint32_t u32_at(const std::string& path, std::uint64_t offset) {
  return load_le<std::uint32_t>(read_range(path, offset, 4).data());
}
std::uint64_t u64_at(const std::string& path, std::uint64_t offset) {
  return load_le<std::uint64_t>(read_range(path, offset, 8).data());
}

TEST_CASE("Writer: every byte of a small file") {
  const TempDir dir;
  const std::string path = dir / "a.dts";
  const SmallFile file = small_old_file();
  {
    Writer writer(path, false, start_header(file));
    write_block(writer, file, 1);
    add_tables(writer);
    writer.add_section("INFO", 0, bytes_of("{\"level\": 0}"), 12);
    write_block(writer, file, 0);
    writer.add_section("ZZZZ", 0, bytes_of("later"), 5);
    writer.add_section("AAAA", 0, {}, 0);
    CHECK_FALSE(std::filesystem::exists(path));
    testing::finish(writer, 640 * 480, 100'000'000);
  }
  CHECK(dir.names() == std::vector<std::string>{"a.dts"});
  REQUIRE(testing::size_of(path) == 3 * kBlock);

  // Blocks, as the other hand makes them.
  for (const std::uint32_t id : {0, 1}) {
    const Bytes expected = file.block_bytes(id);
    CHECK(read_range(path, file.block_start(id), expected.size()) == expected);
    CHECK(crc32(0, read_range(path, file.block_start(id), kBlock)) == file.block_crc(id));
  }

  // Header.
  Header header = small_old_file().header;
  header.is_training = 0;
  header.total_bytes = 3 * kBlock;
  header.max_pic_area = 640 * 480;
  header.max_pic_per_block = 3;
  header.compression_ratio = 0.50331648f;
  header.crc_code = crc32(0, read_range(path, kArea, 2 * kBlock));
  const auto header_bytes = serialize_header(header);
  CHECK(read_range(path, 0, 144) == Bytes(header_bytes.begin(), header_bytes.end()));

  // Sections: in their order, each at a multiple of 64, nothing in between.
  const std::vector<std::pair<std::string, Bytes>> expected = {
      {"HEAD", words({crc32(0, ConstByteSpan(header_bytes).first(140))})},
      {"INFO", bytes_of("{\"level\": 0}")},
      {"BIDX", words({3, file.block_crc(0), 2, file.block_crc(1)})},
      {"SIZE", words({100, 0, 64, 300, 65})},
      {"LABL", words({0, 0, 1, 2, 2})},
      {"ORDR", words(testing::kSmallOrder)},
      {"AAAA", {}},
      {"ZZZZ", bytes_of("later")}};
  Bytes area(kArea - kTable);  // what the header area behind the header must be
  CHECK(testing::text_of(read_range(path, kTable, 4)) == "DTSX");
  CHECK(u32_at(path, kTable + 4) == 1);
  CHECK(u32_at(path, kTable + 8) == expected.size());
  std::uint64_t at = (kTable + 16 + 40 * expected.size() + 63) / 64 * 64;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto& [tag, content] = expected[i];
    CAPTURE(tag);
    const std::uint64_t entry = kTable + 16 + 40 * i;
    CHECK(testing::text_of(read_range(path, entry, 4)) == tag);
    CHECK(u32_at(path, entry + 4) == 0);
    CHECK(u64_at(path, entry + 8) == at);
    CHECK(u64_at(path, entry + 16) == content.size());
    CHECK(u64_at(path, entry + 24) == content.size());
    CHECK(u32_at(path, entry + 32) == crc32(0, content));
    CHECK(u32_at(path, entry + 36) == 0);
    std::copy(content.begin(), content.end(),
              area.begin() + static_cast<std::ptrdiff_t>(at - kTable));
    at = (at + content.size() + 63) / 64 * 64;
  }
  Bytes table = read_range(path, kTable, 16 + 40 * expected.size());
  std::copy(table.begin(), table.end(), area.begin());
  store_le(table.data() + 12, std::uint32_t{0});
  CHECK(u32_at(path, kTable + 12) == crc32(0, table));
  CHECK(read_range(path, kTable, area.size()) == area);
  CHECK(read_range(path, 144, kTable - 144) == Bytes(kTable - 144));
}

TEST_CASE("Writer: the reader agrees, CRC of the file included") {
  const TempDir dir;
  const SmallFile file = small_old_file();
  {
    Writer writer(dir / "a", false, start_header(file));
    for (const std::uint32_t id : {0, 1}) write_block(writer, file, id);
    add_tables(writer);
    testing::finish(writer, 0, 0);
  }
  const auto opened = DtsFile::open(dir / "a");
  CHECK(opened->header().compression_ratio == 1.0f);
  CHECK(opened->samples().sizes == std::vector<std::uint32_t>{100, 0, 64, 300, 65});
  CHECK(opened->source_order() == testing::kSmallOrder);
  CHECK(opened->labels() == std::vector<std::int32_t>{0, 0, 1, 2, 2});
  Bytes out(2 * kBlock);
  opened->read_blocks(Numbers{0, 1}, out, true, opened->handle());
  CHECK(opened->file_crc(opened->samples().block_crcs) == opened->header().crc_code);
}

TEST_CASE("Writer: sections that don't fit the header area go behind the blocks") {
  const TempDir dir;
  const SmallFile file = small_old_file();
  const Bytes path_section = testing::noise(17'000'001, 1);
  const Bytes large = testing::noise(70'000, 2);
  {
    Writer writer(dir / "a", false, start_header(file));
    for (const std::uint32_t id : {0, 1}) write_block(writer, file, id);
    writer.add_section("PATH", 0, path_section, path_section.size());
    writer.add_section("INFO", 0, Bytes(16'720'000, std::byte{'i'}), 16'720'000);
    writer.add_section("CLSS", 0, large, large.size());
    add_tables(writer);
    testing::finish(writer, 0, 0);
  }
  const auto opened = DtsFile::open(dir / "a");
  const auto offset = [&](const char* tag) { return opened->sections().find(tag)->offset; };
  CHECK(offset("INFO") < kArea);
  CHECK(offset("CLSS") == 3 * kBlock);  // no room left for it
  CHECK(offset("BIDX") < kArea);        // for the small ones there is
  CHECK(offset("ORDR") < kArea);
  CHECK(offset("PATH") == 3 * kBlock + 70'016);
  const std::uint64_t size = 3 * kBlock + 70'016 + path_section.size();
  CHECK(testing::size_of(dir / "a") == size);
  CHECK(opened->header().total_bytes == size);
  CHECK(opened->header().block_bytes == 2 * kBlock);
  CHECK(opened->section("PATH") == path_section);
  CHECK(opened->section("CLSS") == large);
  CHECK(opened->header().crc_code == crc32(0, read_range(dir / "a", kArea, size - kArea)));
  CHECK(opened->file_crc(opened->samples().block_crcs) == opened->header().crc_code);
}

TEST_CASE("Writer: an empty set") {
  const TempDir dir;
  {
    Writer writer(dir / "a", false, Header{});
    writer.add_section("LABL", 0, {}, 0);
    testing::finish(writer, 0, 0);
  }
  CHECK(testing::size_of(dir / "a") == kArea);
  const auto opened = DtsFile::open(dir / "a");
  CHECK(opened->header().num_samples == 0);
  CHECK(opened->header().crc_code == 0);
  CHECK(opened->samples().first_sample == std::vector<std::uint64_t>{0});
  CHECK(opened->file_crc({}) == 0);
}

TEST_CASE("Writer: the version says what old readers can't take") {
  const TempDir dir;
  const auto version_of = [&](std::uint32_t level, std::uint32_t block_size,
                              std::uint32_t block_header_size, std::size_t num_samples,
                              std::array<std::uint8_t, 4> asked) {
    SmallFile file = small_old_file();
    file.header.compress_level = level;
    file.header.block_size = block_size;
    file.header.block_header_size = block_header_size;
    file.blocks = {std::vector<testing::SmallSample>(num_samples, {Bytes(1), 0})};
    Header header = start_header(file);
    header.version = asked;
    {
      Writer writer(dir / "a", true, header);
      write_block(writer, file, 0);
      testing::finish(writer, 0, 0);
    }
    const Header written = DtsFile::open(dir / "a")->header();
    CHECK(written.max_pic_per_block == num_samples);
    return written.version;
  };
  using Version = std::array<std::uint8_t, 4>;
  const Version old{3, 0, 0, 0};
  const Version ours{3, 1, 0, 0};
  CHECK(version_of(0, kBlock, 4096, 340, old) == old);
  CHECK(version_of(0, kBlock, 8192, 340, old) == old);
  CHECK(version_of(0, kBlock, 8192, 341, old) == ours);
  CHECK(version_of(1, kBlock, 16384, 1000, old) == old);
  CHECK(version_of(3, kBlock, 16384, 1001, old) == ours);
  CHECK(version_of(0, 2 * kBlock, 4096, 1, old) == ours);
  CHECK(version_of(0, kBlock, 4096, 1, ours) == ours);  // raw samples, as the caller knows
}

TEST_CASE("Writer: volumes keep what they were given") {
  const TempDir dir;
  Header header = start_header(small_old_file());
  header.num_volumes = 3;
  header.volume_id = 2;
  header.total_blocks = 7;
  {
    Writer writer(dir / "a", false, header);
    for (const std::uint32_t id : {0, 1}) write_block(writer, small_old_file(), id);
    writer.seal(0, 0, 7);
    writer.publish();
  }
  const auto opened = DtsFile::open(dir / "a");
  CHECK(opened->header().num_volumes == 3);
  CHECK(opened->header().volume_id == 2);
  CHECK(opened->header().total_blocks == 7);
  CHECK(opened->header().num_blocks == 2);
}

TEST_CASE("Writer: sealed first, published later") {
  const TempDir dir;
  Header header = start_header(small_old_file());
  header.num_volumes = 3;
  for (const std::uint32_t total : {0, 7}) {
    const std::string path = dir / std::to_string(total);
    Writer writer(path, false, header);
    for (const std::uint32_t id : {0, 1}) write_block(writer, small_old_file(), id);
    testing::check_message<InvalidArgument>([&] { writer.publish(); },
                                            "the writer has not finished");
    writer.seal(5, 1, total);
    CHECK(testing::size_of(path + ".partial") == 3 * kBlock);
    testing::check_message<InvalidArgument>([&] { writer.seal(5, 1, total); },
                                            "the writer has finished");
    writer.publish();
    const auto opened = DtsFile::open(path);
    CHECK(opened->header().total_blocks == (total == 0 ? 2 : 7));
    CHECK(opened->header().max_pic_area == 5);
    CHECK(opened->file_crc(opened->samples().block_crcs) == opened->header().crc_code);
  }
}

TEST_CASE("Writer: resumed, it gives the same file") {
  const TempDir dir;
  const SmallFile file = small_old_file();
  {
    Writer writer(dir / "whole.dts", false, start_header(file));
    for (const std::uint32_t id : {0, 1}) write_block(writer, file, id);
    testing::finish(writer, 1, 1000);
  }
  const Numbers sizes = {100, 0, 64};
  Bytes scratch(kBlock);
  {
    Writer writer(dir / "a.dts", false, start_header(file), true);
    write_block(writer, file, 0);
    // What a writer leaves that came as far as its sections.
    writer.add_section("INFO", 0, Bytes(40 << 20, std::byte{7}), 40 << 20);
    write_block(writer, file, 1);
    testing::FileCallsScope calls;
    calls->fsync = [](int) {
      errno = EIO;
      return -1;
    };
    CHECK(testing::thrown<IoError>([&] { testing::finish(writer, 1, 1000); }).code == EIO);
  }
  CHECK(dir.names() == std::vector<std::string>{"a.dts.partial", "whole.dts"});
  {
    Writer writer(dir / "a.dts", false, start_header(file), true);
    CHECK_FALSE(writer.adopt_block(0, file.block_crc(0) + 1, sizes, scratch));
    CHECK_FALSE(writer.adopt_block(0, file.block_crc(1), sizes, scratch));
    CHECK(writer.adopt_block(0, file.block_crc(0), sizes, scratch));
    testing::check_message<InvalidArgument>(
        [&] { writer.adopt_block(0, file.block_crc(0), sizes, scratch); },
        "block 0 is written twice");
    testing::check_message<InvalidArgument>(
        [&] { writer.adopt_block(1, 0, sizes, ByteSpan(scratch).first(8)); },
        "block 1 has 8 bytes, expected 16777216");
    write_block(writer, file, 1);
    testing::finish(writer, 1, 1000);
  }
  CHECK(dir.names() == std::vector<std::string>{"a.dts", "whole.dts"});
  REQUIRE(testing::size_of(dir / "a.dts") == 3 * kBlock);
  CHECK(read_range(dir / "a.dts", 0, 3 * kBlock) == read_range(dir / "whole.dts", 0, 3 * kBlock));
}

TEST_CASE("Writer: blocks from several threads give the same file") {
  const TempDir dir;
  SmallFile file = small_old_file();
  file.blocks.clear();
  for (std::uint32_t b = 0; b < 4; ++b) file.blocks.push_back({{testing::noise(1000, b), 1}});
  for (const std::string& name : {dir / "one", dir / "many"}) {
    Writer writer(name, false, start_header(file));
    if (name == dir / "one") {
      for (std::uint32_t b = 0; b < 4; ++b) write_block(writer, file, b);
    } else {
      std::vector<std::jthread> threads;
      for (std::uint32_t t = 0; t < 2; ++t) {
        threads.emplace_back([&, t] {
          for (const std::uint32_t b : {3 - t, t}) write_block(writer, file, b);
        });
      }
      threads.clear();
    }
    testing::finish(writer, 0, 1);
  }
  const std::uint64_t size = testing::size_of(dir / "one");
  REQUIRE(size == testing::size_of(dir / "many"));
  CHECK(read_range(dir / "one", 0, size) == read_range(dir / "many", 0, size));
}

}  // namespace
}  // namespace dts
