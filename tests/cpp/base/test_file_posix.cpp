// SPDX-License-Identifier: Apache-2.0
// Reading; test_file_posix_output.cpp has the writing.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <thread>

#include "base/file.h"
#include "base/file_calls.h"
#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_corrupt;
using testing::check_io;
using testing::check_message;
using testing::FileCallsScope;
using testing::noise;
using testing::patch;
using testing::TempDir;

TEST_CASE("InputFile: any range of the file") {
  const TempDir dir;
  const Bytes data = noise(10'000'000, 3);  // more than two pieces
  patch(dir / "a", 0, data);
  const InputFile file(dir / "a");
  CHECK(file.path() == dir / "a");
  for (const auto& [offset, size] : {std::pair<std::size_t, std::size_t>{0, 10'000'000},
                                     {0, 0},
                                     {1, 4'194'304},
                                     {4'194'303, 2},
                                     {9'999'999, 1},
                                     {10'000'000, 0}}) {
    Bytes out(size);
    file.read_exact(offset, out);
    CHECK(std::equal(out.begin(), out.end(), data.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
}

TEST_CASE("InputFile: the end of the file") {
  const TempDir dir;
  patch(dir / "a", 0, bytes_of("0123456789"));
  const InputFile file(dir / "a");
  Bytes out(8);
  CHECK(file.read_some(4, out) == 6);
  CHECK(testing::text_of(ConstByteSpan(out).first(6)) == "456789");
  CHECK(file.read_some(10, out) == 0);
  CHECK(file.read_some(~std::uint64_t{0}, out) == 0);
  check_corrupt([&] { file.read_exact(4, out); }, 10,
                "the file ends at byte 10, but 8 bytes at offset 4 are expected");
  check_corrupt([&] { file.read_exact(100, out); }, 10,
                "the file ends at byte 10, but 8 bytes at offset 100 are expected");
}

TEST_CASE("InputFile: what is no readable regular file") {
  const TempDir dir;
  check_io([&] { InputFile(dir / "absent"); }, ENOENT, dir / "absent", "opening for reading");
  check_io([&] { InputFile(dir.path()); }, EISDIR, dir.path(), "opening: a directory, not a file");
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0666) == 0);
  check_io([&] { InputFile(dir / "fifo"); }, EINVAL, dir / "fifo",
           "opening: not a regular file (FIFO)");
  check_io([&] { InputFile("/dev/null"); }, EINVAL, "/dev/null",
           "opening: not a regular file (character device)");
  REQUIRE(::symlink("loop", (dir / "loop").c_str()) == 0);
  check_io([&] { InputFile(dir / "loop"); }, ELOOP, dir / "loop", "opening for reading");
  check_message<InvalidArgument>([] { InputFile(""); }, "the path is empty");
  check_message<InvalidArgument>([] { InputFile(std::string("a\0b", 3)); },
                                 "the path holds a NUL byte, which no file name can");
}

TEST_CASE("InputFile: names are bytes") {
  const TempDir dir;
  for (const std::string& name : {std::string("\xff\xfe\x80 .dts"), std::string(255, 'n')}) {
    patch(dir / name, 0, bytes_of("content"));
    Bytes out(7);
    InputFile(dir / name).read_exact(0, out);
    CHECK(testing::text_of(out) == "content");
  }
}

TEST_CASE("InputFile: moved, it still reads, and its name may be gone") {
  const TempDir dir;
  patch(dir / "a", 0, bytes_of("content"));
  InputFile first(dir / "a");
  const InputFile second(std::move(first));
  REQUIRE(::unlink((dir / "a").c_str()) == 0);
  Bytes out(7);
  second.read_exact(0, out);
  CHECK(testing::text_of(out) == "content");
}

TEST_CASE("InputFile: identity tells states apart") {
  const TempDir dir;
  patch(dir / "a", 0, bytes_of("content"));
  const InputFile file(dir / "a");
  const FileIdentity before = file.identity();
  CHECK(before.size == 7);
  CHECK(before == InputFile(dir / "a").identity());
  patch(dir / "a", 7, bytes_of("!"));
  CHECK(file.identity().size == 8);
  CHECK(file.identity() != before);
  const struct timespec times[2] = {{100, 5}, {200, 7}};
  REQUIRE(::utimensat(AT_FDCWD, (dir / "a").c_str(), times, 0) == 0);
  CHECK(file.identity().mtime_ns == 200'000'000'007);
}

TEST_CASE("InputFile: interrupted and short reads are taken up again") {
  const TempDir dir;
  const Bytes data = noise(5000, 4);
  patch(dir / "a", 0, data);
  const InputFile file(dir / "a");
  static int num_calls;
  num_calls = 0;
  FileCallsScope calls;
  calls->pread = [](int descriptor, void* buffer, std::size_t count, off_t offset) -> ssize_t {
    if (++num_calls % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    return ::pread(descriptor, buffer, std::min<std::size_t>(count, 999), offset);
  };
  Bytes out(4500);
  file.read_exact(100, out);
  CHECK(std::equal(out.begin(), out.end(), data.begin() + 100));
  CHECK(num_calls == 10);  // five short reads, each interrupted once
}

TEST_CASE("InputFile: a bad sector is named by its offset") {
  const TempDir dir;
  patch(dir / "a", 0, noise(5000, 5));
  const InputFile file(dir / "a");
  FileCallsScope calls;
  calls->pread = [](int descriptor, void* buffer, std::size_t count, off_t offset) -> ssize_t {
    if (offset >= 4096) {
      errno = EIO;
      return -1;
    }
    return ::pread(descriptor, buffer, std::min<std::size_t>(count, 4096), offset);
  };
  Bytes out(5000);
  check_io([&] { file.read_exact(0, out); }, EIO, dir / "a", "reading 904 bytes at offset 4096");
}

TEST_CASE("InputFile: one object, many threads") {
  const TempDir dir;
  const Bytes data = noise(1'000'000, 6);
  patch(dir / "a", 0, data);
  const InputFile file(dir / "a");
  std::vector<int> num_right(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < num_right.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t offset = t * 1000; offset + 5000 < data.size(); offset += 7919) {
          Bytes out(5000);
          file.read_exact(offset, out);
          num_right[t] += std::equal(out.begin(), out.end(),
                                     data.begin() + static_cast<std::ptrdiff_t>(offset));
        }
      });
    }
  }
  for (std::size_t t = 0; t < num_right.size(); ++t) {
    CHECK(num_right[t] == static_cast<int>((994'999 - t * 1000) / 7919 + 1));
  }
}

}  // namespace
}  // namespace dts
