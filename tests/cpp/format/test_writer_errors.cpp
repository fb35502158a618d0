// SPDX-License-Identifier: Apache-2.0
// What the writer refuses, and that nothing is left of a file that failed.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <functional>

#include "base/file_calls.h"
#include "format/finish.h"
#include "format/small_file.h"
#include "format/writer.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_message;
using testing::TempDir;
using testing::words;
using Names = std::vector<std::string>;
using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kBlock = 16 << 20;

Header two_blocks() {
  Header header;
  header.num_classes = 3;
  header.num_blocks = 2;
  return header;
}

struct Fixture {
  TempDir dir;
  std::string path = dir / "a.dts";
  Bytes block = Bytes(kBlock);

  void write(Writer& writer, std::uint32_t id, const Numbers& sizes = {1}) {
    writer.write_block(id, block, 0, sizes);
  }
};

TEST_CASE_FIXTURE(Fixture, "Writer: headers no reader would take make no file") {
  const auto check = [&](const std::function<void(Header&)>& change, const std::string& message) {
    Header header = two_blocks();
    change(header);
    check_message<InvalidArgument>([&] { Writer(path, false, header); }, message);
  };
  check([](Header& h) { h.dataset_type = "MNIST"; },
        "dataset_type is 'MNIST', expected IMAGENET for a file of blocks");
  check([](Header& h) { h.compress_level = 4; }, "level is 4, expected 0 .. 3");
  check([](Header& h) { h.is_training = 2; }, "is_training is 2, expected 0 or 1");
  check([](Header& h) { h.num_classes = 1 << 25; }, "33554432 classes, expected at most 16777216");
  check([](Header& h) { h.block_size = 1 << 20; },
        "block_size is 1048576, expected a multiple of 16 MiB below 4 GiB");
  check([](Header& h) { h.block_size = 0; },
        "block_size is 0, expected a multiple of 16 MiB below 4 GiB");
  check([](Header& h) { h.block_header_size = 4100; },
        "block_header_size is 4100, expected a multiple of 64 below block_size");
  check([](Header& h) { h.block_header_size = h.block_size; },
        "block_header_size is 16777216, expected a multiple of 64 below block_size");
  check([](Header& h) { h.volume_id = 1; }, "volume_id is 1, expected below num_volumes 1");
  CHECK(dir.names().empty());
}

TEST_CASE_FIXTURE(Fixture, "Writer: blocks that can't be") {
  Writer writer(path, false, two_blocks());
  check_message<InvalidArgument>([&] { write(writer, 2); }, "block 2 of 2 blocks");
  check_message<InvalidArgument>([&] { write(writer, 0, {}); },
                                 "block 0 has 0 samples, expected 1 .. 340");
  check_message<InvalidArgument>([&] { write(writer, 0, Numbers(341)); },
                                 "block 0 has 341 samples, expected 1 .. 340");
  check_message<InvalidArgument>([&] { write(writer, 0, {-1}); },
                                 "a sample of -1 bytes in block 0");
  check_message<InvalidArgument>([&] { write(writer, 0, {std::int64_t{1} << 32}); },
                                 "a sample of 4294967296 bytes in block 0");
  write(writer, 0);
  check_message<InvalidArgument>([&] { write(writer, 0); }, "block 0 is written twice");
  block.resize(kBlock - 1);
  check_message<InvalidArgument>([&] { write(writer, 1); },
                                 "block 1 has 16777215 bytes, expected 16777216");
  check_message<InvalidArgument>([&] { testing::finish(writer, 0, 0); }, "block 1 of 2 is missing");
  block.resize(kBlock);
  write(writer, 1);
  testing::finish(writer, 0, 0);
  check_message<InvalidArgument>([&] { write(writer, 0); }, "the writer has finished");
  check_message<InvalidArgument>([&] { testing::finish(writer, 0, 0); }, "the writer has finished");
  check_message<InvalidArgument>([&] { writer.add_section("INFO", 0, {}, 0); },
                                 "the writer has finished");
}

TEST_CASE_FIXTURE(Fixture, "Writer: sections that can't be") {
  Writer writer(path, false, two_blocks());
  const auto check = [&](const std::string& tag, std::uint32_t flags, const Bytes& payload,
                         std::uint64_t raw_bytes, const std::string& message) {
    check_message<InvalidArgument>([&] { writer.add_section(tag, flags, payload, raw_bytes); },
                                   message);
  };
  check("INF", 0, {}, 0, "section 'INF': a tag is four printable characters");
  check("IN\n0", 0, {}, 0, "section 'IN\\x0a0': a tag is four printable characters");
  for (const std::string tag : {"HEAD", "BIDX", "SIZE"}) {
    check(tag, 0, {}, 0, "section '" + tag + "' is written by the writer itself");
  }
  check("INFO", 4, {}, 0, "section 'INFO': flags are 0x00000004, expected only bits 0 and 1");
  check("INFO", 0, bytes_of("abc"), 4, "section 'INFO': 4 raw bytes do not go with 3 stored ones");
  check("INFO", kSectionZlib, bytes_of("abc"), 8000,
        "section 'INFO': 8000 raw bytes do not go with 3 stored ones");
  check("INFO", kSectionZlib, bytes_of("abc"), (std::uint64_t{1} << 32) + 1,
        "section 'INFO': 4294967297 raw bytes, expected at most 4294967296");
  writer.add_section("INFO", 0, {}, 0);
  check("INFO", 0, {}, 0, "section 'INFO' is added twice");
  for (int i = 0; i < 60; ++i) writer.add_section("T" + std::to_string(100 + i), 0, {}, 0);
  check("LAST", 0, {}, 0, "section 'LAST': more than 64 sections");
}

TEST_CASE_FIXTURE(Fixture, "Writer: tables of the wrong length") {
  for (const std::string tag : {"LABL", "ORDR"}) {
    Writer writer(path, false, two_blocks());
    for (const std::uint32_t id : {0, 1}) write(writer, id);
    writer.add_section(tag, 0, words({0, 0, 0}), 12);
    check_message<InvalidArgument>(
        [&] { testing::finish(writer, 0, 0); },
        "section '" + tag + "' has 12 bytes, expected 4 for each of 2 samples");
  }
  CHECK(dir.names().empty());
}

TEST_CASE_FIXTURE(Fixture, "Writer: given up, it leaves nothing") {
  {
    Writer writer(path, false, two_blocks());
    write(writer, 0);
    CHECK(dir.names() == Names{"a.dts.partial"});
  }
  CHECK(dir.names().empty());
}

TEST_CASE_FIXTURE(Fixture, "Writer: killed, it leaves nothing under the final name") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Writer writer(path, false, two_blocks());
    write(writer, 0);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(dir.names() == Names{"a.dts.partial"});
  Writer writer(path, false, two_blocks());  // and the next one is not in its way
  for (const std::uint32_t id : {0, 1}) write(writer, id);
  testing::finish(writer, 0, 0);
  CHECK(dir.names() == Names{"a.dts"});
}

TEST_CASE_FIXTURE(Fixture, "Writer: existing files and other writers") {
  {
    Writer writer(path, false, two_blocks());
    testing::check_io([&] { Writer(path, true, two_blocks()); }, EWOULDBLOCK, path + ".partial",
                      "locking: another process is writing this file");
    for (const std::uint32_t id : {0, 1}) write(writer, id);
    testing::finish(writer, 0, 0);
  }
  testing::check_io([&] { Writer(path, false, two_blocks()); }, EEXIST, path,
                    "writing: the file exists already and is not to be overwritten");
  CHECK(testing::size_of(path) == 3 * kBlock);
}

TEST_CASE_FIXTURE(Fixture, "Writer: a full disk, before the work") {
  testing::FileCallsScope calls;
  calls->reserve = [](int, off_t) { return ENOSPC; };
  testing::check_io([&] { Writer(path, false, two_blocks()); }, ENOSPC, path + ".partial",
                    "reserving 50331648 bytes");
  CHECK(dir.names().empty());
}

TEST_CASE_FIXTURE(Fixture, "Writer: a full disk, in a block; the block may be tried again") {
  Writer writer(path, false, two_blocks());
  write(writer, 1);
  {
    testing::FileCallsScope calls;
    calls->pwrite = [](int, const void*, std::size_t, off_t) -> ssize_t {
      errno = ENOSPC;
      return -1;
    };
    testing::check_io([&] { write(writer, 0); }, ENOSPC, path + ".partial",
                      "writing 4194304 bytes at offset 16777216");
  }
  check_message<InvalidArgument>([&] { testing::finish(writer, 0, 0); }, "block 0 of 2 is missing");
  write(writer, 0);
  testing::finish(writer, 0, 0);
  CHECK(dir.names() == Names{"a.dts"});
}

TEST_CASE_FIXTURE(Fixture, "Writer: a full disk, at the very end") {
  {
    Writer writer(path, false, two_blocks());
    for (const std::uint32_t id : {0, 1}) write(writer, id);
    testing::FileCallsScope calls;
    calls->fsync = [](int) {
      errno = ENOSPC;
      return -1;
    };
    testing::check_io([&] { testing::finish(writer, 0, 0); }, ENOSPC, path + ".partial",
                      "flushing to the disk");
    check_message<InvalidArgument>([&] { testing::finish(writer, 0, 0); },
                                   "the writer has finished");
  }
  CHECK(dir.names().empty());
}

}  // namespace
}  // namespace dts
