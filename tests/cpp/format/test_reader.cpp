// SPDX-License-Identifier: Apache-2.0
// Opening and whole blocks. Tables: test_reader_tables.cpp; single samples:
// test_reader_samples.cpp; cut files: test_reader_truncation.cpp.
#include "format/reader.h"

#include <doctest/doctest.h>

#include <thread>

#include "base/crc32.h"
#include "base/file_calls.h"
#include "format/small_file.h"
#include "format/text.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_corrupt;
using testing::check_message;
using testing::patch_value;
using testing::small_file;
using testing::small_old_file;
using testing::SmallFile;
using testing::TempDir;
using Ids = std::vector<std::int64_t>;

constexpr std::size_t kBlock = 16 << 20;

struct Fixture {
  TempDir dir;
  SmallFile file = small_file();
  std::string path = dir / "a.dts";
  std::shared_ptr<DtsFile> open(OpenOptions options = {}) {
    file.write(path);
    return DtsFile::open(path, options);
  }
};

TEST_CASE_FIXTURE(Fixture, "DtsFile: what is known at once") {
  const auto opened = open();
  CHECK(opened->path() == path);
  CHECK(opened->header().num_samples == 5);
  const auto expected = serialize_header(file.header);
  CHECK(Bytes(opened->header_bytes().begin(), opened->header_bytes().end()) ==
        Bytes(expected.begin(), expected.end()));
  CHECK(opened->sections().sections.size() == 5);
  CHECK(opened->identity().size == 48 << 20);
  CHECK(opened->section("SIZE") == testing::words({100, 0, 64, 300, 65}));
  check_message<OutOfRange>([&] { opened->section("PATH"); }, "the file has no section 'PATH'");
}

TEST_CASE_FIXTURE(Fixture, "DtsFile: opening reads no block") {
  file.write(path);
  for (std::uint32_t b : {0, 1}) patch_value(path, file.block_start(b), std::uint64_t{0});
  const auto opened = DtsFile::open(path);
  CHECK(opened->samples().sizes.size() == 5);
  CHECK(opened->labels().size() == 5);
}

TEST_CASE_FIXTURE(Fixture, "read_blocks: bytes in the order asked for, twice if asked") {
  for (const bool old : {false, true}) {
    if (old) file = small_old_file();
    const auto opened = open();
    Bytes out(3 * kBlock, std::byte{7});
    opened->read_blocks(Ids{1, 0, 1}, out, true, opened->handle());
    for (const auto& [slot, block_id] :
         {std::pair<std::size_t, std::uint32_t>{0, 1}, {1, 0}, {2, 1}}) {
      const Bytes expected = file.block_bytes(block_id);
      const auto block = ConstByteSpan(out).subspan(slot * kBlock, kBlock);
      CHECK(std::equal(expected.begin(), expected.end(), block.begin()));
      CHECK(crc32(0, block) == file.block_crc(block_id));
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "read_blocks: a wrong CRC names block, samples and both values") {
  const auto opened = open();
  patch_value(path, file.block_start(1) + 4096 + 17, char{42});
  // The change shows in the file's state; a handle opened later accepts it as it is.
  const auto damaged = DtsFile::open(path);
  Bytes out(kBlock);
  Bytes block = file.block_bytes(1);
  block[4096 + 17] = std::byte{42};
  const std::uint32_t found = crc32_zeros(crc32(0, block), kBlock - block.size());
  check_corrupt([&] { damaged->read_blocks(Ids{1}, out, true, damaged->handle()); },
                static_cast<std::int64_t>(file.block_start(1)),
                "block 1 (stored samples 3..4): CRC-32 is " + hex32(found) + ", expected " +
                    hex32(file.block_crc(1)));
  damaged->read_blocks(Ids{1}, out, false, damaged->handle());  // not checked when not asked to
  CHECK(out[4096 + 17] == std::byte{42});
  damaged->read_blocks(Ids{0}, out, true, damaged->handle());
}

TEST_CASE_FIXTURE(Fixture, "read_blocks: the index is checked against the tables") {
  // Block 0 as another file has it; the tables are those of the right one.
  const auto check = [&](const SmallFile& other, std::uint64_t at, const std::string& message) {
    file.write(path);
    testing::patch(path, file.block_start(0), other.block_bytes(0));
    const auto opened = DtsFile::open(path);
    Bytes out(kBlock);
    check_corrupt([&] { opened->read_blocks(Ids{0}, out, false, opened->handle()); },
                  static_cast<std::int64_t>(file.block_start(0) + at),
                  "block 0 (stored samples 0..2): " + message);
  };
  SUBCASE("number of samples") {
    SmallFile other = small_old_file();
    other.blocks[0].pop_back();
    check(other, 8, "its index has 2 samples, expected 3");
  }
  SUBCASE("size") {
    SmallFile other = small_old_file();
    other.blocks[0][0].bytes.resize(101);
    check(other, 24, "sample 0 has 101 bytes at 4096, expected 100 bytes at 4096");
  }
  SUBCASE("label") {
    SmallFile other = small_old_file();
    other.blocks[0][1].label = 1;
    check(other, 40, "sample 1 has label 1, expected 0 as section 'LABL' says");
  }
  SUBCASE("an index that is no index") {
    SmallFile other = small_old_file();
    other.header.compress_level = 3;
    check(other, 0, "magic is 'LV3B', expected 'LV0B'");
  }
}

TEST_CASE_FIXTURE(Fixture, "read_blocks: a gap that the tables do not know") {
  file.write(path);
  patch_value(path, file.block_start(1) + 16, std::uint32_t{4480});
  const auto opened = DtsFile::open(path);
  Bytes out(kBlock);
  check_corrupt([&] { opened->read_blocks(Ids{1}, out, false, opened->handle()); },
                static_cast<std::int64_t>(file.block_start(1) + 16),
                "block 1 (stored samples 3..4): sample 1 has 65 bytes at 4480, expected 65 bytes "
                "at 4416");
}

TEST_CASE_FIXTURE(Fixture, "read_blocks: arguments") {
  const auto opened = open();
  Bytes out(kBlock);
  const auto read = [&](const Ids& ids) { opened->read_blocks(ids, out, true, opened->handle()); };
  check_message<OutOfRange>([&] { read({2}); }, "block 2 is out of range, the file has 2 blocks");
  check_message<OutOfRange>([&] { read({-1}); }, "block -1 is out of range, the file has 2 blocks");
  check_message<OutOfRange>([&] { read({std::int64_t{1} << 32}); },
                            "block 4294967296 is out of range, the file has 2 blocks");
  check_message<InvalidArgument>([&] { read({0, 1}); },
                                 "out has 16777216 bytes, expected 2 blocks of 16777216");
  out.resize(kBlock + 1);
  check_message<InvalidArgument>([&] { read({0}); },
                                 "out has 16777217 bytes, expected 1 blocks of 16777216");
  opened->read_blocks({}, {}, true, opened->handle());
}

TEST_CASE_FIXTURE(Fixture, "read_blocks: a bad sector is told with path and offset") {
  const auto opened = open();
  Bytes out(kBlock);
  testing::FileCallsScope calls;
  calls->pread = [](int descriptor, void* buffer, std::size_t count, off_t offset) -> ssize_t {
    if (offset >= (40 << 20)) {
      errno = EIO;
      return -1;
    }
    return ::pread(descriptor, buffer, count, offset);
  };
  testing::check_io([&] { opened->read_blocks(Ids{1}, out, true, opened->handle()); }, EIO, path,
                    "reading 4194304 bytes at offset 41943040");
}

TEST_CASE_FIXTURE(Fixture, "a file that changes while it is open") {
  const auto opened = open();
  const std::int64_t before = opened->identity().mtime_ns;
  Bytes out(kBlock);
  const auto read = [&] { opened->read_blocks(Ids{0}, out, true, opened->handle()); };
  read();
  const auto set_time = [&](std::int64_t ns) {
    const struct timespec time = {static_cast<time_t>(ns / 1'000'000'000),
                                  static_cast<long>(ns % 1'000'000'000)};
    const struct timespec times[2] = {time, time};
    REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
  };
  SUBCASE("modified") {
    set_time(before + 5);
    check_corrupt(read, -1,
                  "the file changed since it was opened: it was modified at " +
                      std::to_string(before + 5) + " ns, expected " + std::to_string(before) +
                      " ns; open it again");
    set_time(before);
    read();
  }
  SUBCASE("cut off") {
    testing::set_size(path, 40 << 20);
    check_corrupt(read, -1,
                  "the file changed since it was opened: it has 41943040 bytes, expected "
                  "50331648; open it again");
  }
  SUBCASE("replaced: the open file goes on, a new handle does not") {
    small_file().write(dir / "b.dts");
    REQUIRE(::rename((dir / "b.dts").c_str(), path.c_str()) == 0);
    read();
    check_corrupt([&] { opened->open_handle(); }, -1,
                  "the file changed since it was opened: another file has its name now; open it "
                  "again");
  }
}

TEST_CASE_FIXTURE(Fixture, "index_samples: places in the arena") {
  const auto opened = open();
  Bytes arena(2 * kBlock);
  opened->read_blocks(Ids{1, 0}, arena, true, opened->handle());
  const auto samples = opened->index_samples(arena, Ids{1, 0});
  REQUIRE(samples.size() == 5);
  const auto check = [&](std::size_t i, std::uint32_t block_id, std::uint64_t offset,
                         const testing::SmallSample& sample) {
    CHECK(samples[i].block_id == block_id);
    CHECK(samples[i].offset == offset);
    CHECK(samples[i].size == sample.bytes.size());
    CHECK(samples[i].label == sample.label);
    CHECK(std::equal(sample.bytes.begin(), sample.bytes.end(),
                     arena.begin() + static_cast<std::ptrdiff_t>(offset)));
  };
  check(0, 1, 4096, file.blocks[1][0]);
  check(1, 1, 4096 + 320, file.blocks[1][1]);
  check(2, 0, kBlock + 4096, file.blocks[0][0]);
  check(3, 0, kBlock + 4096 + 128, file.blocks[0][1]);
  check(4, 0, kBlock + 4096 + 128, file.blocks[0][2]);
}

TEST_CASE_FIXTURE(Fixture, "index_samples: an arena that is not what it should be") {
  const auto opened = open();
  Bytes arena(kBlock);
  check_corrupt([&] { opened->index_samples(arena, Ids{0}); },
                static_cast<std::int64_t>(file.block_start(0)),
                "block 0: magic is '\\x00\\x00\\x00\\x00', expected 'LV0B'");
  opened->read_blocks(Ids{1}, arena, true, opened->handle());
  check_corrupt([&] { opened->index_samples(arena, Ids{0}); },
                static_cast<std::int64_t>(file.block_start(0) + 4),
                "block 0: it says that it is block 1");
  check_message<InvalidArgument>([&] { opened->index_samples(arena, Ids{0, 1}); },
                                 "the arena has 16777216 bytes, expected 2 blocks of 16777216");
  check_message<OutOfRange>([&] { opened->index_samples(arena, Ids{7}); },
                            "block 7 is out of range, the file has 2 blocks");
}

TEST_CASE_FIXTURE(Fixture, "check_block: a report instead of an error") {
  file.write(path);
  patch_value(path, file.block_start(0) + 4096, char{1});
  patch_value(path, file.block_start(1) + 8, std::uint32_t{1});
  Bytes scratch(kBlock);
  std::string problem = "left from before";
  const auto opened = DtsFile::open(path);
  std::uint32_t crc = opened->check_block(0, scratch, opened->handle(), problem);
  CHECK(crc == crc32(0, scratch));
  CHECK(problem == "block 0 (stored samples 0..2): CRC-32 is " + hex32(crc) + ", expected " +
                       hex32(file.block_crc(0)));
  const auto unchecked = DtsFile::open(path, {.ignore_sections = true});
  crc = unchecked->check_block(1, scratch, unchecked->handle(), problem);
  CHECK(crc == crc32(0, scratch));
  CHECK(problem == "block 1: sample 0 has label 300, expected 0 .. 2");
}

TEST_CASE_FIXTURE(Fixture, "check_block: nothing to report") {
  Bytes scratch(kBlock);
  std::string problem = "left from before";
  for (const bool ignore : {false, true}) {
    const auto opened = open({.ignore_sections = ignore});
    for (const std::uint32_t b : {0, 1}) {
      CHECK(opened->check_block(b, scratch, opened->handle(), problem) == file.block_crc(b));
      CHECK(problem.empty());
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "check_block: arguments") {
  const auto opened = open();
  Bytes scratch(kBlock - 1);
  std::string problem;
  check_message<InvalidArgument>(
      [&] { opened->check_block(0, scratch, opened->handle(), problem); },
      "scratch has 16777215 bytes, expected 16777216");
  check_message<OutOfRange>([&] { opened->check_block(2, scratch, opened->handle(), problem); },
                            "block 2 is out of range, the file has 2 blocks");
}

TEST_CASE_FIXTURE(Fixture, "file_crc: blocks and what lies behind them") {
  file.add("INFO", testing::noise(5'000'000, 9));
  file.section("INFO").offset = testing::kArea + 2 * kBlock + 640;
  const auto opened = open();
  const std::uint64_t size = testing::size_of(path);
  const std::uint32_t expected =
      crc32(0, testing::read_range(path, testing::kArea, size - testing::kArea));
  CHECK(opened->file_crc(Ids{file.block_crc(0), file.block_crc(1)}) == expected);
  CHECK(opened->file_crc(Ids{file.block_crc(0), file.block_crc(0)}) != expected);
  check_message<InvalidArgument>([&] { opened->file_crc(Ids{1}); }, "1 block CRCs, expected 2");
  check_message<InvalidArgument>([&] { opened->file_crc(Ids{1, -1}); },
                                 "a block's CRC is -1, expected 0 .. 4294967295");
}

TEST_CASE("a pixel file has no blocks") {
  const TempDir dir;
  Header header;
  header.dataset_type = "CIFAR10";
  header.num_classes = 10;
  header.image_width = header.image_height = 32;
  header.num_samples = 4;
  header.num_blocks = 1;
  header.header_bytes = 256;
  const Bytes payload = testing::noise(4 * 3073, 1);
  testing::patch(dir / "a", 0, serialize_header(header));
  testing::patch(dir / "a", 256, payload);
  const auto opened = DtsFile::open(dir / "a");
  CHECK(opened->header().num_samples == 4);
  CHECK(opened->sections().sections.empty());
  CHECK(opened->file_crc({}) == crc32(0, payload));
  const std::string message = "a pixel file (CIFAR10) has no blocks";
  Bytes out(kBlock);
  std::string problem;
  check_message<InvalidArgument>([&] { opened->read_blocks(Ids{0}, out, true, opened->handle()); },
                                 message);
  check_message<InvalidArgument>([&] { opened->index_samples(out, Ids{0}); }, message);
  check_message<InvalidArgument>([&] { opened->check_block(0, out, opened->handle(), problem); },
                                 message);
}

TEST_CASE_FIXTURE(Fixture, "one file, many threads, each with a handle of its own") {
  const auto opened = open();
  std::vector<int> num_right(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < num_right.size(); ++t) {
      threads.emplace_back([&, t] {
        const InputFile handle = opened->open_handle();
        Bytes block(kBlock);
        for (std::uint32_t i = 0; i < 4; ++i) {
          const std::uint32_t b = (i + static_cast<std::uint32_t>(t)) % 2;
          opened->read_blocks(Ids{b}, block, true, handle);
          num_right[t] += opened->index_samples(block, Ids{b}).size() == (b == 0 ? 3 : 2) &&
                          opened->labels()[3] == 2 && opened->source_order()[0] == 3;
        }
      });
    }
  }
  CHECK(num_right == std::vector<int>(4, 4));
}

}  // namespace
}  // namespace dts
