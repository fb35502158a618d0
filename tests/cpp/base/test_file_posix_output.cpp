// SPDX-License-Identifier: Apache-2.0
// Writing; test_file_posix.cpp has the reading.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <memory>
#include <thread>

#include "base/file.h"
#include "base/file_calls.h"
#include "support.h"

namespace dts {
namespace {

using testing::bytes_of;
using testing::check_io;
using testing::FileCallsScope;
using testing::patch;
using testing::read_range;
using testing::TempDir;
using testing::text_of;
using Names = std::vector<std::string>;

std::string content(const std::string& path) {
  return text_of(read_range(path, 0, testing::size_of(path)));
}

TEST_CASE("OutputFile: the target appears at commit, cut to its size") {
  const TempDir dir;
  {
    OutputFile file(dir / "out", false);
    CHECK(file.target() == dir / "out");
    CHECK(file.partial_path() == dir / "out.partial");
    file.reserve(1 << 20);
    file.write_at(4, bytes_of("5678extra"));
    file.write_at(0, bytes_of("1234"));
    file.write_at(8, {});
    CHECK(dir.names() == Names{"out.partial"});
    file.commit(8);
    CHECK(dir.names() == Names{"out"});
  }
  CHECK(dir.names() == Names{"out"});
  CHECK(content(dir / "out") == "12345678");
}

TEST_CASE("OutputFile: commit may lengthen the file with zeros") {
  const TempDir dir;
  OutputFile file(dir / "out", false);
  file.write_at(0, bytes_of("ab"));
  file.commit(4);
  CHECK(content(dir / "out") == std::string("ab\0\0", 4));
}

TEST_CASE("OutputFile: several files appear together") {
  const TempDir dir;
  OutputFile first(dir / "1", false);
  {
    OutputFile second(dir / "2", false);
    for (OutputFile* file : {&first, &second}) {
      file->write_at(0, bytes_of("abc"));
      file->seal(2);
    }
    CHECK(dir.names() == Names{"1.partial", "2.partial"});
    CHECK(content(dir / "1.partial") == "ab");
    first.publish();
    CHECK(dir.names() == Names{"1", "2.partial"});
  }
  // Sealed is not published.
  CHECK(dir.names() == Names{"1"});
  CHECK(content(dir / "1") == "ab");
}

TEST_CASE("OutputFile: permissions are the process's usual ones") {
  const TempDir dir;
  const mode_t before = ::umask(027);
  OutputFile file(dir / "out", false);
  ::umask(before);
  file.commit(0);
  CHECK((std::filesystem::status(dir / "out").permissions() & std::filesystem::perms::mask) ==
        static_cast<std::filesystem::perms>(0640));
}

TEST_CASE("OutputFile: without commit nothing is left") {
  const TempDir dir;
  {
    OutputFile(dir / "out", false).write_at(0, bytes_of("half"));
  }
  CHECK(dir.names().empty());
}

TEST_CASE("OutputFile: an existing target") {
  const TempDir dir;
  patch(dir / "out", 0, bytes_of("precious"));
  check_io([&] { OutputFile(dir / "out", false); }, EEXIST, dir / "out",
           "writing: the file exists already and is not to be overwritten");
  CHECK(dir.names() == Names{"out"});
  {
    OutputFile(dir / "out", true).write_at(0, bytes_of("half"));
  }
  CHECK(content(dir / "out") == "precious");  // until a commit
  OutputFile file(dir / "out", true);
  file.write_at(0, bytes_of("new"));
  file.commit(3);
  CHECK(content(dir / "out") == "new");
}

TEST_CASE("OutputFile: a target that appears meanwhile") {
  const TempDir dir;
  {
    OutputFile file(dir / "out", false);
    file.write_at(0, bytes_of("new"));
    patch(dir / "out", 0, bytes_of("other"));
    check_io([&] { file.commit(3); }, EEXIST, dir / "out",
             "renaming the finished file: the target appeared meanwhile");
  }
  CHECK(content(dir / "out") == "other");
  CHECK(dir.names() == Names{"out"});
}

TEST_CASE("OutputFile: targets that are no file") {
  const TempDir dir;
  REQUIRE(::mkdir((dir / "folder").c_str(), 0777) == 0);
  REQUIRE(::mkfifo((dir / "fifo").c_str(), 0666) == 0);
  REQUIRE(::symlink("/dev/null", (dir / "link").c_str()) == 0);
  for (const bool overwrite : {false, true}) {
    check_io([&] { OutputFile(dir / "folder", overwrite); }, EISDIR, dir / "folder",
             "opening: a directory, not a file");
    check_io([&] { OutputFile(dir / "fifo", overwrite); }, EINVAL, dir / "fifo",
             "opening: not a regular file (FIFO)");
    check_io([&] { OutputFile(dir / "link", overwrite); }, EINVAL, dir / "link",
             "opening: not a regular file (character device)");
  }
  check_io([&] { OutputFile(dir / "absent/out", false); }, ENOENT, dir / "absent/out.partial",
           "opening for writing");
  check_io([&] { OutputFile(dir / std::string(250, 'n'), false); }, ENAMETOOLONG,
           dir / (std::string(250, 'n') + ".partial"), "opening for writing");
  CHECK(dir.names() == Names{"fifo", "folder", "link"});
}

TEST_CASE("OutputFile: a link is a target of its own") {
  const TempDir dir;
  patch(dir / "real", 0, bytes_of("real"));
  REQUIRE(::symlink("real", (dir / "link").c_str()) == 0);
  REQUIRE(::symlink("nowhere", (dir / "dangling").c_str()) == 0);
  CHECK(testing::thrown<IoError>([&] { OutputFile(dir / "link", false); }).code == EEXIST);
  CHECK(testing::thrown<IoError>([&] { OutputFile(dir / "dangling", false); }).code == EEXIST);
  OutputFile file(dir / "link", true);
  file.write_at(0, bytes_of("new"));
  file.commit(3);
  CHECK(content(dir / "real") == "real");
  CHECK(content(dir / "link") == "new");
  CHECK_FALSE(std::filesystem::is_symlink(dir / "link"));
}

TEST_CASE("OutputFile: a link in the partial file's place is not followed") {
  const TempDir dir;
  patch(dir / "victim", 0, bytes_of("victim"));
  REQUIRE(::symlink("victim", (dir / "out.partial").c_str()) == 0);
  check_io([&] { OutputFile(dir / "out", false); }, ELOOP, dir / "out.partial",
           "opening for writing");
  CHECK(content(dir / "victim") == "victim");
}

TEST_CASE("OutputFile: two writers of one target") {
  const TempDir dir;
  OutputFile first(dir / "out", false);
  first.write_at(0, bytes_of("first"));
  check_io([&] { OutputFile(dir / "out", false); }, EWOULDBLOCK, dir / "out.partial",
           "locking: another process is writing this file");
  first.commit(5);
  CHECK(content(dir / "out") == "first");
  OutputFile second(dir / "out", true);  // the lock went with the commit's file
  second.commit(0);
  CHECK(content(dir / "out").empty());
}

TEST_CASE("OutputFile: what a killed writer left is taken over, emptied") {
  const TempDir dir;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    OutputFile file(dir / "out", false);
    file.write_at(0, bytes_of("a long half of a file"));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFSIGNALED(status));
  CHECK(dir.names() == Names{"out.partial"});  // and no target
  OutputFile file(dir / "out", false);
  file.write_at(0, bytes_of("new"));
  file.commit(5);
  CHECK(content(dir / "out") == std::string("new\0\0", 5));
}

TEST_CASE("OutputFile: resumed, it keeps what is there") {
  const TempDir dir;
  {
    OutputFile file(dir / "out", false, true);
    file.write_at(0, bytes_of("first half, tail"));
  }
  CHECK(dir.names() == Names{"out.partial"});
  CHECK(content(dir / "out.partial") == "first half, tail");
  {
    OutputFile file(dir / "out", false, true);
    testing::Bytes found(20);
    CHECK(file.read_some(6, found) == 10);
    CHECK(text_of(testing::Bytes(found.begin(), found.begin() + 10)) == "half, tail");
    CHECK(file.read_some(16, found) == 0);
    file.resize(10);
    file.resize(12);
    CHECK(content(dir / "out.partial") == std::string("first half\0\0", 12));
    file.commit(10);
  }
  CHECK(dir.names() == Names{"out"});
  check_io([&] { OutputFile(dir / "out", false, true); }, EEXIST, dir / "out",
           "writing: the file exists already and is not to be overwritten");
}

TEST_CASE("OutputFile: a forked child's copy removes nothing") {
  const TempDir dir;
  auto file = std::make_unique<OutputFile>(dir / "out", false);
  file->write_at(0, bytes_of("parent"));
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    file.reset();
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  file->commit(6);
  CHECK(content(dir / "out") == "parent");
}

TEST_CASE("OutputFile: a partial file that was swapped is neither renamed nor removed") {
  const TempDir dir;
  {
    OutputFile file(dir / "out", false);
    REQUIRE(::unlink((dir / "out.partial").c_str()) == 0);
    patch(dir / "out.partial", 0, bytes_of("someone else's"));
    check_io([&] { file.commit(0); }, ENOENT, dir / "out.partial",
             "renaming: the file was moved or removed while it was written");
  }
  CHECK(dir.names() == Names{"out.partial"});
  CHECK(content(dir / "out.partial") == "someone else's");
}

TEST_CASE("OutputFile: a full disk") {
  const TempDir dir;
  FileCallsScope calls;
  SUBCASE("is found when room is reserved") {
    calls->reserve = [](int, off_t) { return ENOSPC; };
    OutputFile file(dir / "out", false);
    check_io([&] { file.reserve(1000); }, ENOSPC, dir / "out.partial", "reserving 1000 bytes");
  }
  SUBCASE("is found in the midst of a write") {
    calls->pwrite = [](int descriptor, const void* buffer, std::size_t count,
                       off_t offset) -> ssize_t {
      if (offset >= 3) {
        errno = ENOSPC;
        return -1;
      }
      return ::pwrite(descriptor, buffer, std::min<std::size_t>(count, 3), offset);
    };
    OutputFile file(dir / "out", false);
    check_io([&] { file.write_at(0, bytes_of("12345")); }, ENOSPC, dir / "out.partial",
             "writing 2 bytes at offset 3");
  }
  SUBCASE("is found when the file is flushed") {
    calls->fsync = [](int) {
      errno = ENOSPC;
      return -1;
    };
    OutputFile file(dir / "out", false);
    check_io([&] { file.commit(5); }, ENOSPC, dir / "out.partial", "flushing to the disk");
  }
  CHECK(dir.names().empty());
}

TEST_CASE("OutputFile: a file system that can't reserve is no error") {
  const TempDir dir;
  FileCallsScope calls;
  calls->reserve = [](int, off_t) { return EOPNOTSUPP; };
  OutputFile file(dir / "out", false);
  file.reserve(1000);
  file.commit(3);
  CHECK(testing::size_of(dir / "out") == 3);
}

TEST_CASE("OutputFile: interrupted and short writes are taken up again") {
  const TempDir dir;
  static int num_calls;
  num_calls = 0;
  FileCallsScope calls;
  calls->pwrite = [](int descriptor, const void* buffer, std::size_t count,
                     off_t offset) -> ssize_t {
    if (++num_calls % 2 == 1) {
      errno = EINTR;
      return -1;
    }
    return ::pwrite(descriptor, buffer, std::min<std::size_t>(count, 2), offset);
  };
  OutputFile file(dir / "out", false);
  file.write_at(0, bytes_of("12345"));
  CHECK(num_calls == 6);
  file.commit(5);
  CHECK(content(dir / "out") == "12345");
}

TEST_CASE("OutputFile: offsets no file can have") {
  const TempDir dir;
  OutputFile file(dir / "out", false);
  const std::uint64_t far = ~std::uint64_t{0} - 2;
  CHECK(testing::thrown<IoError>([&] { file.write_at(far, bytes_of("12345")); }).code == EFBIG);
  CHECK(testing::thrown<IoError>([&] { file.reserve(far); }).code == EFBIG);
  CHECK(testing::thrown<IoError>([&] { file.commit(far); }).code == EFBIG);
}

TEST_CASE("OutputFile: ranges from several threads") {
  const TempDir dir;
  OutputFile file(dir / "out", false);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&file, t] {
        for (int i = t; i < 100; i += 4) {
          file.write_at(static_cast<std::uint64_t>(i) * 100,
                        testing::noise(100, static_cast<std::uint32_t>(i)));
        }
      });
    }
  }
  file.commit(10'000);
  for (int i = 0; i < 100; ++i) {
    REQUIRE(read_range(dir / "out", static_cast<std::uint64_t>(i) * 100, 100) ==
            testing::noise(100, static_cast<std::uint32_t>(i)));
  }
}

}  // namespace
}  // namespace dts
