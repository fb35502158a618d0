// SPDX-License-Identifier: Apache-2.0
#include "pipeline/file_source.h"

#include <thread>

#include "base/file_calls.h"
#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::noise;
using testing::TempDir;

std::atomic<int> num_preads{0};
ssize_t counting_pread(int descriptor, void* buffer, std::size_t count, off_t offset) {
  ++num_preads;
  return ::pread(descriptor, buffer, count, offset);
}

// Another process adds to the file between two of our calls.
std::string growing_path;
ssize_t growing_pread(int descriptor, void* buffer, std::size_t count, off_t offset) {
  const ssize_t got = ::pread(descriptor, buffer, count, offset);
  testing::set_size(growing_path, 1000);
  return got;
}

// Says that nothing is left, as where a file is cut off while it is read.
ssize_t empty_pread(int, void*, std::size_t, off_t) { return 0; }

Bytes bytes_of(const SampleView& view) { return {view.bytes.begin(), view.bytes.end()}; }

// Files 0 .. n-1 of the given sizes.
struct Folder {
  explicit Folder(const std::vector<std::size_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      contents.push_back(noise(sizes[i], static_cast<std::uint32_t>(i)));
      paths.push_back(dir / std::to_string(i));
      testing::patch(paths.back(), 0, contents.back());
      labels.push_back(static_cast<std::int64_t>(10 * i));
    }
  }
  std::vector<SampleView> read(const FileSource& source, const std::vector<std::int64_t>& samples) {
    const auto reader = source.open_reader();
    memory.clear();
    std::vector<SampleView> views(samples.size());
    source.read_samples(samples, memory, views, *reader);
    bytes_read = reader->bytes_read;
    return views;
  }
  void check(const FileSource& source, const std::vector<std::int64_t>& samples) {
    const auto views = read(source, samples);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      CHECK_FALSE(views[i].is_missing);
      CHECK(views[i].height == 0);
      CHECK(bytes_of(views[i]) == contents[static_cast<std::size_t>(samples[i])]);
    }
  }

  TempDir dir;
  std::vector<Bytes> contents;
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;
  ReadMemory memory;
  std::int64_t bytes_read = 0;
};

TEST_CASE("file source: each file whole, in any order, also twice") {
  Folder folder({100, 0, 70'000, 1, 2'000'000});
  const FileSource source(folder.paths, folder.labels, false);
  CHECK(source.num_samples() == 5);
  CHECK(source.label(4) == 40);
  CHECK(source.choice_index(3) == 3);
  CHECK(source.position(3) == 3);
  folder.check(source, {4, 1, 0, 3, 2, 2});
  CHECK(folder.bytes_read == 2'000'000 + 100 + 1 + 70'000 + 70'000);
  folder.check(source, {1});
  folder.check(source, {});
  CHECK(source.kept().held_bytes == 0);
  CHECK_FALSE(source.kept().is_complete);
}

TEST_CASE("file source: what can't be read is missing, and the rest is there") {
  Folder folder({10, 20});
  REQUIRE(::mkfifo((folder.dir / "fifo").c_str(), 0600) == 0);
  REQUIRE(::mkdir((folder.dir / "folder").c_str(), 0700) == 0);
  REQUIRE(::symlink("nowhere", (folder.dir / "link").c_str()) == 0);
  testing::set_size(folder.paths[0], 10);
  testing::patch(folder.dir / "huge", 0, Bytes(1));
  testing::set_size(folder.dir / "huge", (std::uint64_t{2} << 30) + 1);
  std::vector<std::string> paths = {
      folder.paths[0],     folder.dir / "gone", folder.dir / "fifo",    folder.dir / "folder",
      folder.dir / "link", folder.dir / "huge", std::string("a\0b", 3), "",
      "/dev/zero",         folder.paths[1]};
  for (const bool keep : {false, true}) {
    const FileSource source(paths, std::vector<std::int64_t>(paths.size()), keep);
    const auto views = folder.read(source, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    for (std::size_t i = 1; i + 1 < paths.size(); ++i) {
      CAPTURE(paths[i]);
      CHECK(views[i].is_missing);
      CHECK(views[i].bytes.empty());
    }
    CHECK(bytes_of(views[0]) == folder.contents[0]);
    CHECK(bytes_of(views[9]) == folder.contents[1]);
    CHECK_FALSE(source.kept().is_complete);
  }
}

TEST_CASE("file source: a file that changes while it is read is missing") {
  Folder folder({500});
  const FileSource source(folder.paths, folder.labels, true);
  {
    testing::FileCallsScope calls;
    growing_path = folder.paths[0];
    calls->pread = growing_pread;
    CHECK(folder.read(source, {0})[0].is_missing);
    calls->pread = empty_pread;
    CHECK(folder.read(source, {0})[0].is_missing);
  }
  folder.contents[0].resize(1000);
  folder.check(source, {0});  // nothing wrong was kept
}

TEST_CASE("file source: kept bytes are read once, and outlive the files") {
  Folder folder({100, 0, 70'000, 2'000'000, 8'000'000, 300});
  const FileSource source(folder.paths, folder.labels, true);
  testing::FileCallsScope calls;
  calls->pread = counting_pread;
  folder.check(source, {0, 1, 2});
  CHECK_FALSE(source.kept().is_complete);
  folder.check(source, {3, 0, 4, 5, 5});
  CHECK(source.kept().is_complete);
  CHECK(source.kept().held_bytes == (8 << 20) + 2'000'000 + 8'000'000);
  CHECK_FALSE(source.kept().is_shared);
  const auto before = folder.read(source, {4, 2});
  num_preads = 0;
  for (const std::string& path : folder.paths) ::unlink(path.c_str());
  for (int epoch = 0; epoch < 2; ++epoch) folder.check(source, {5, 4, 3, 2, 1, 0, 3});
  CHECK(num_preads == 0);
  CHECK(folder.bytes_read == 0);
  CHECK(folder.read(source, {2})[0].bytes.data() == before[1].bytes.data());
}

TEST_CASE("file source: threads that keep the same files") {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 60; ++i) sizes.push_back(i * 997);
  Folder folder(sizes);
  const FileSource source(folder.paths, folder.labels, true);
  std::vector<std::int64_t> samples(60);
  for (std::size_t i = 0; i < 60; ++i) samples[i] = static_cast<std::int64_t>(i);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      ReadMemory memory;
      const auto reader = source.open_reader();
      std::vector<SampleView> views(samples.size());
      for (int round = 0; round < 3; ++round) {
        memory.clear();
        source.read_samples(samples, memory, views, *reader);
        for (std::size_t i = 0; i < 60; ++i) wrong += bytes_of(views[i]) != folder.contents[i];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(source.kept().is_complete);
  CHECK(source.kept().held_bytes == 8 << 20);
}

TEST_CASE("file source: a stopped reader opens no more files") {
  Folder folder({10, 20});
  const FileSource source(folder.paths, folder.labels, false);
  const auto reader = source.open_reader();
  std::atomic<bool> stop{true};
  reader->watch(&stop);
  std::vector<SampleView> views(2);
  const std::int64_t samples[] = {0, 1};
  source.read_samples(samples, folder.memory, views, *reader);
  CHECK(reader->bytes_read == 0);
}

TEST_CASE("file source: wrong arguments") {
  testing::check_message<InvalidArgument>([] { FileSource({"a", "b"}, {1}, false); },
                                          "1 labels for 2 files, expected one each");
  const FileSource source({"a"}, {1}, false);
  const std::string problem = "sample 1 is out of range, the source has 1";
  testing::check_message<OutOfRange>([&] { source.label(1); }, problem);
  testing::check_message<OutOfRange>([&] { source.choice_index(1); }, problem);
  std::vector<SampleView> views(1);
  const std::int64_t samples[] = {1};
  ReadMemory memory;
  const auto reader = source.open_reader();
  testing::check_message<OutOfRange>([&] { source.read_samples(samples, memory, views, *reader); },
                                     problem);
}

}  // namespace
}  // namespace dts
