// SPDX-License-Identifier: Apache-2.0
#include "format/ranges.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/file_calls.h"
#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::noise;
using testing::patch;
using testing::TempDir;
using Numbers = std::vector<std::int64_t>;

ListedFile listed(const std::string& path) {
  const FileIdentity now = InputFile(path).identity();
  return {path, now.size, now.mtime_ns};
}

TEST_CASE("read_ranges_into: ranges of several files to their places, in any order") {
  const TempDir dir;
  const Bytes a = noise(5'000'000, 1);
  const Bytes b = noise(100, 2);
  patch(dir / "a", 0, a);
  patch(dir / "\xff", 0, b);
  const std::vector<ListedFile> files{listed(dir / "a"), listed(dir / "\xff")};
  const std::vector<FileRange> ranges{
      {1, 90, 10}, {0, 4'999'000, 1000}, {1, 0, 5}, {0, 7, 0}, {0, 0, 3}};
  Bytes arena(2000, std::byte{9});
  read_ranges_into(files, ranges, Numbers{1500, 100, 10, 0, 50}, arena);
  CHECK(std::equal(arena.begin() + 1500, arena.begin() + 1510, b.begin() + 90));
  CHECK(std::equal(arena.begin() + 100, arena.begin() + 1100, a.begin() + 4'999'000));
  CHECK(std::equal(arena.begin() + 10, arena.begin() + 15, b.begin()));
  CHECK(std::equal(arena.begin() + 50, arena.begin() + 53, a.begin()));
  CHECK(arena[0] == std::byte{9});
  CHECK(arena[15] == std::byte{9});
}

TEST_CASE("read_ranges_into: a file that changed or went") {
  const TempDir dir;
  patch(dir / "a", 0, noise(100, 1));
  Bytes arena(100);
  const std::vector<FileRange> ranges{{0, 10, 20}};
  std::vector<ListedFile> files{listed(dir / "a")};
  const auto read = [&] { read_ranges_into(files, ranges, Numbers{0}, arena); };
  files[0].size = 101;
  testing::check_corrupt(read, -1,
                         "the file changed while it was converted: it had 101 bytes when it was "
                         "listed and has 100, or was written to meanwhile");
  files[0] = listed(dir / "a");
  ++files[0].mtime_ns;
  CHECK(testing::thrown<CorruptFile>(read).path == dir / "a");
  files[0] = listed(dir / "a");
  read();
  REQUIRE(::unlink((dir / "a").c_str()) == 0);
  testing::check_io(read, ENOENT, dir / "a", "opening for reading");
}

TEST_CASE("read_ranges_into: a file that changes under the read") {
  static std::string path;
  const TempDir dir;
  path = dir / "a";
  patch(path, 0, noise(100, 1));
  const std::vector<ListedFile> files{listed(path)};
  Bytes arena(100);
  testing::FileCallsScope calls;
  calls->pread = [](int descriptor, void* buffer, std::size_t count, off_t offset) -> ssize_t {
    testing::set_size(path, 140);
    return ::pread(descriptor, buffer, count, offset);
  };
  const std::vector<FileRange> ranges{{0, 10, 20}};
  CHECK_THROWS_AS(read_ranges_into(files, ranges, Numbers{0}, arena), CorruptFile);
}

TEST_CASE("read_ranges_into: places and ranges outside") {
  Bytes arena(100);
  const std::vector<ListedFile> files{{"never opened", 1000, 0}};
  const auto fails = [&](FileRange range, std::int64_t offset, const std::string& text) {
    const std::vector<FileRange> ranges{range};
    const auto error = testing::thrown<InvalidArgument>(
        [&] { read_ranges_into(files, ranges, Numbers{offset}, arena); });
    CHECK(std::string(error.what()) == text);
  };
  fails({0, 0, 101}, 0, "sample 0 of 101 bytes at 0 does not fit the arena of 100 bytes");
  fails({0, 0, 10}, 91, "sample 0 of 10 bytes at 91 does not fit the arena of 100 bytes");
  fails({0, 0, 10}, -1, "sample 0 of 10 bytes at -1 does not fit the arena of 100 bytes");
  fails({1, 0, 10}, 0, "a range of file 1 of 1 files");
  fails({-1, 0, 10}, 0, "a range of file -1 of 1 files");
  fails({0, 995, 10}, 0, "a range of 10 bytes at 995 in a file of 1000 bytes");
  fails({0, -1, 10}, 0, "a range of 10 bytes at -1 in a file of 1000 bytes");
  fails({0, 1, -1}, 0, "a range of -1 bytes at 1 in a file of 1000 bytes");
  const std::vector<FileRange> one{{0, 0, 1}};
  CHECK_THROWS_AS(read_ranges_into(files, one, Numbers{}, arena), InvalidArgument);
}

}  // namespace
}  // namespace dts
