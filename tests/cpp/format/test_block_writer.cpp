// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "base/crc32.h"
#include "base/file_calls.h"
#include "format/small_file.h"
#include "format/writer.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_message;
using testing::noise;
using testing::patch;
using testing::small_old_file;
using testing::TempDir;
using Numbers = std::vector<std::int64_t>;

TEST_CASE("finish_block: golden bytes around the samples, whatever was there") {
  testing::SmallFile file = small_old_file();
  const std::size_t block_size = 1 << 20;
  file.header.block_size = block_size;
  for (const std::uint32_t level : {0, 1, 3}) {
    file.header.compress_level = level;
    for (const std::uint32_t id : {0, 1}) {
      const Bytes expected = file.block_bytes(id);
      Bytes block(block_size, std::byte{0xAA});
      Numbers sizes;
      Numbers labels;
      std::size_t at = 4096;
      for (const auto& sample : file.blocks[id]) {
        std::copy(sample.bytes.begin(), sample.bytes.end(),
                  block.begin() + static_cast<std::ptrdiff_t>(at));
        at += (sample.bytes.size() + 63) / 64 * 64;
        sizes.push_back(static_cast<std::int64_t>(sample.bytes.size()));
        labels.push_back(sample.label);
      }
      const std::uint32_t crc = finish_block(block, level, id, 4096, sizes, labels);
      CHECK(crc == crc32(0, block));
      CHECK(std::equal(expected.begin(), expected.end(), block.begin()));
      CHECK(std::all_of(block.begin() + static_cast<std::ptrdiff_t>(expected.size()), block.end(),
                        [](std::byte byte) { return byte == std::byte{0}; }));
    }
  }
}

TEST_CASE("finish_block: full to the last byte and the last index entry") {
  Bytes block(8192, std::byte{1});
  std::uint32_t crc = finish_block(block, 0, 0, 4096, Numbers{4096}, Numbers{0});
  CHECK(crc == crc32(0, block));
  CHECK(block[8191] == std::byte{1});
  const Numbers many(340, 12);
  Bytes large(1 << 20);
  crc = finish_block(large, 0, 0, 4096, many, many);
  CHECK(crc == crc32(0, large));
  CHECK(load_le<std::uint32_t>(large.data() + 12 + 4 * 339) == 4096 + 339 * 64);
}

TEST_CASE("finish_block: what does not fit changes nothing") {
  Bytes block(8192, std::byte{1});
  const auto finish = [&](const Numbers& sizes, const Numbers& labels) {
    finish_block(block, 0, 0, 4096, sizes, labels);
  };
  check_message<InvalidArgument>(
      [&] { finish(Numbers(341), Numbers(341)); },
      "341 samples in a block, its index of 4096 bytes has room for 340");
  check_message<InvalidArgument>(
      [&] { finish({4097}, {0}); },
      "sample 0 of 4097 bytes at 4096 does not fit the block of 8192 bytes");
  check_message<InvalidArgument>(
      [&] { finish({1, 4033}, {0, 0}); },
      "sample 1 of 4033 bytes at 4160 does not fit the block of 8192 bytes");
  check_message<InvalidArgument>(
      [&] { finish({std::int64_t{1} << 62, std::int64_t{1} << 62}, {0, 0}); },
      "sample 0 of 4611686018427387904 bytes at 4096 does not fit the block of 8192 bytes");
  check_message<InvalidArgument>(
      [&] { finish({-1}, {0}); },
      "sample 0 of -1 bytes at 4096 does not fit the block of 8192 bytes");
  check_message<InvalidArgument>([&] { finish({1}, {-1}); },
                                 "sample 0 has label -1, expected 0 .. 2147483647");
  check_message<InvalidArgument>([&] { finish({1}, {std::int64_t{1} << 31}); },
                                 "sample 0 has label 2147483648, expected 0 .. 2147483647");
  check_message<InvalidArgument>([&] { finish({1, 2}, {0}); }, "2 sizes and 1 labels");
  check_message<InvalidArgument>([&] { finish_block(block, 4, 0, 4096, {}, {}); },
                                 "level is 4, expected 0 .. 3");
  for (const std::uint32_t bad : {0u, 4100u, 8192u}) {
    check_message<InvalidArgument>([&] { finish_block(block, 0, 0, bad, {}, {}); },
                                   "block_header_size is " + std::to_string(bad) +
                                       ", expected a multiple of 64 below the block's 8192 bytes");
  }
  CHECK(block == Bytes(8192, std::byte{1}));
}

TEST_CASE("read_files_into: whole files to their places") {
  const TempDir dir;
  patch(dir / "a", 0, noise(100, 1));
  patch(dir / "b", 0, {});
  patch(dir / "\xff", 0, noise(5'000'000, 2));
  Bytes arena(5'001'000, std::byte{9});
  read_files_into(std::vector<std::string>{dir / "\xff", dir / "b", dir / "a"},
                  Numbers{1000, 0, 64}, Numbers{5'000'000, 0, 100}, arena);
  CHECK(Bytes(arena.begin() + 64, arena.begin() + 164) == noise(100, 1));
  CHECK(Bytes(arena.begin() + 1000, arena.end()) == noise(5'000'000, 2));
  CHECK(arena[63] == std::byte{9});
  CHECK(arena[164] == std::byte{9});
}

TEST_CASE("read_files_into: files that changed or went") {
  const TempDir dir;
  patch(dir / "good", 0, noise(10, 1));
  patch(dir / "a", 0, noise(100, 1));
  Bytes arena(1000);
  const auto read_as = [&](std::int64_t size) {
    read_files_into(std::vector<std::string>{dir / "good", dir / "a"}, Numbers{0, 64},
                    Numbers{10, size}, arena);
  };
  testing::check_corrupt([&] { read_as(101); }, 100,
                         "the file changed while it was converted: it has 100 bytes, expected 101");
  testing::check_corrupt([&] { read_as(99); }, 99,
                         "the file changed while it was converted: it has 100 bytes, expected 99");
  CHECK(testing::thrown<CorruptFile>([&] { read_as(99); }).path == dir / "a");
  REQUIRE(::unlink((dir / "a").c_str()) == 0);
  testing::check_io([&] { read_as(100); }, ENOENT, dir / "a", "opening for reading");
}

TEST_CASE("read_files_into: files that change under the read") {
  const TempDir dir;
  static std::string path;
  path = dir / "a";
  patch(path, 0, noise(100, 1));
  Bytes arena(100);
  testing::FileCallsScope calls;
  const auto read = [&] {
    read_files_into(std::vector<std::string>{path}, Numbers{0}, Numbers{100}, arena);
  };
  calls->pread = [](int descriptor, void* buffer, std::size_t count, off_t offset) -> ssize_t {
    testing::set_size(path, 60);
    return ::pread(descriptor, buffer, count, offset);
  };
  testing::check_corrupt(read, 60,
                         "the file changed while it was converted: it ends at byte 60, expected "
                         "100");
  testing::set_size(path, 100);
  calls->pread = [](int descriptor, void* buffer, std::size_t count, off_t offset) -> ssize_t {
    testing::set_size(path, 140);
    return ::pread(descriptor, buffer, count, offset);
  };
  testing::check_corrupt(
      read, -1, "the file changed while it was converted: it was written to while it was read");
}

TEST_CASE("read_files_into: places outside of the arena") {
  Bytes arena(100);
  const auto read = [&](std::int64_t offset, std::int64_t size) {
    read_files_into(std::vector<std::string>{"never opened"}, Numbers{offset}, Numbers{size},
                    arena);
  };
  check_message<InvalidArgument>([&] { read(1, 100); },
                                 "file 0 of 100 bytes at 1 does not fit the arena of 100 bytes");
  check_message<InvalidArgument>([&] { read(-1, 10); },
                                 "file 0 of 10 bytes at -1 does not fit the arena of 100 bytes");
  check_message<InvalidArgument>([&] { read(0, -1); },
                                 "file 0 of -1 bytes at 0 does not fit the arena of 100 bytes");
  check_message<InvalidArgument>([&] { read(101, 0); },
                                 "file 0 of 0 bytes at 101 does not fit the arena of 100 bytes");
  check_message<InvalidArgument>(
      [&] { read_files_into(std::vector<std::string>{"a"}, Numbers{}, Numbers{1}, arena); },
      "1 paths, 0 offsets and 1 sizes");
}

}  // namespace
}  // namespace dts
