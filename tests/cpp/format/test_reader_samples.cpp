// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <numeric>
#include <thread>

#include "base/file_calls.h"
#include "format/reader.h"
#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_message;
using testing::noise;
using testing::small_file;
using testing::small_old_file;
using testing::SmallFile;
using testing::TempDir;
using Ids = std::vector<std::int64_t>;

int num_reads;

struct Fixture {
  TempDir dir;
  SmallFile file = small_file();
  std::string path = dir / "a.dts";
  std::shared_ptr<DtsFile> opened;

  void open() {
    file.write(path);
    opened = DtsFile::open(path);
    opened->samples();
  }

  const Bytes& stored(std::int64_t id) const {
    for (const auto& block : file.blocks) {
      if (id < static_cast<std::int64_t>(block.size()))
        return block[static_cast<std::size_t>(id)].bytes;
      id -= static_cast<std::int64_t>(block.size());
    }
    FAIL("no sample " << id);
    std::abort();
  }

  // Reads and compares every sample; returns the number of reads it took.
  int check(const Ids& ids) const {
    Ids offsets(ids.size());
    const std::uint64_t size = opened->plan_samples(ids, offsets);
    Bytes out(size, std::byte{0xEE});
    testing::FileCallsScope calls;
    calls->pread = [](int descriptor, void* buffer, std::size_t count, off_t offset) {
      ++num_reads;
      return ::pread(descriptor, buffer, count, offset);
    };
    num_reads = 0;
    opened->read_samples(ids, offsets, out, opened->handle());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Bytes& expected = stored(ids[i]);
      REQUIRE(std::equal(expected.begin(), expected.end(),
                         out.begin() + static_cast<std::ptrdiff_t>(offsets[i])));
    }
    return num_reads;
  }
};

TEST_CASE_FIXTURE(Fixture, "plan_samples: one behind the other, aligned") {
  open();
  Ids offsets(4);
  CHECK(opened->plan_samples(Ids{4, 0, 1, 4}, offsets) == 128 + 128 + 0 + 128);
  CHECK(offsets == Ids{0, 128, 256, 256});
  CHECK(opened->plan_samples({}, {}) == 0);
}

TEST_CASE_FIXTURE(Fixture, "read_samples: any order, any number of times") {
  for (const bool old : {false, true}) {
    if (old) file = small_old_file();
    open();
    check({0, 1, 2, 3, 4});
    check({4, 3, 2, 1, 0});
    check({2, 2, 0, 4, 2, 0});
    check({1});
    check({});
  }
}

TEST_CASE_FIXTURE(Fixture, "read_samples: neighbours are read together") {
  open();
  CHECK(check({0, 1, 2}) == 1);  // laid out as in the file: straight to its place
  CHECK(check({2, 0}) == 1);     // otherwise by way of a buffer
  CHECK(check({2, 2, 2}) == 1);
  CHECK(check({0, 1, 2, 3, 4}) == 2);  // two blocks
  CHECK(check({1}) == 0);              // no bytes, no read
}

TEST_CASE_FIXTURE(Fixture, "read_samples: gaps and runs have limits") {
  file = small_old_file();
  // 3 MiB, 64 KiB, 64, 64 KiB + 64, 64, 5 MiB, 64, 1 MiB
  file.blocks = {{}, {{noise(1, 8), 0}}};
  for (const std::size_t size :
       {3 << 20, 64 << 10, 64, (64 << 10) + 64, 64, 5 << 20, 64, 1 << 20}) {
    file.blocks[0].push_back({noise(size, static_cast<std::uint32_t>(size)), 0});
  }
  file.header.num_samples = 9;
  open();
  CHECK(check({0, 2}) == 1);  // a gap of 64 KiB
  CHECK(check({2, 4}) == 2);  // one of 64 KiB and 64 bytes
  CHECK(check({4, 6}) == 2);  // one of 5 MiB
  CHECK(check({0, 1, 2}) == 1);
  CHECK(check({5, 6}) == 2 + 1);  // beyond 4 MiB: apart, the long one in two pieces
  CHECK(check({5, 5}) == 4);
  CHECK(check({7, 6, 5, 4, 3, 2, 1, 0, 8}) == 1 + 2 + 1 + 1);
  CHECK(check({6, 7}) == 1);
}

TEST_CASE_FIXTURE(Fixture, "read_samples: every subset of a block, in every order") {
  file = small_old_file();
  file.blocks = {{}, {{noise(5, 1), 0}}};
  for (std::uint32_t i = 0; i < 5; ++i) file.blocks[0].push_back({noise(i * 40 + 1, i), 0});
  file.header.num_samples = 6;
  open();
  Ids ids = {0, 1, 2, 3, 4, 5};
  do {
    check(Ids(ids.begin(), ids.begin() + 4));
  } while (std::next_permutation(ids.begin(), ids.end()));
}

TEST_CASE_FIXTURE(Fixture, "read_samples: bytes around the samples stay as they were") {
  open();
  Bytes out(1024, std::byte{0xEE});
  opened->read_samples(Ids{4, 0}, Ids{640, 128}, out, opened->handle());
  const auto untouched = [&](std::size_t begin, std::size_t end) {
    return std::all_of(out.begin() + static_cast<std::ptrdiff_t>(begin),
                       out.begin() + static_cast<std::ptrdiff_t>(end),
                       [](std::byte byte) { return byte == std::byte{0xEE}; });
  };
  CHECK(untouched(0, 128));
  CHECK(untouched(228, 640));
  CHECK(untouched(705, 1024));
}

TEST_CASE_FIXTURE(Fixture, "read_samples: arguments") {
  open();
  Bytes out(256);
  Ids offset(1);
  const auto read = [&](std::int64_t id, std::int64_t place) {
    opened->read_samples(Ids{id}, Ids{place}, out, opened->handle());
  };
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{5}, std::int64_t{1} << 40}) {
    const std::string message =
        "stored sample " + std::to_string(id) + " is out of range, the file has 5";
    check_message<OutOfRange>([&] { read(id, 0); }, message);
    check_message<OutOfRange>([&] { opened->plan_samples(Ids{id}, offset); }, message);
  }
  for (const std::int64_t place : {std::int64_t{-64}, std::int64_t{1}, std::int64_t{192},
                                   std::int64_t{320}, std::int64_t{1} << 62}) {
    check_message<InvalidArgument>([&] { read(0, place); },
                                   "stored sample 0 of 100 bytes can't be put at " +
                                       std::to_string(place) +
                                       ", expected a multiple of 64 within 256 bytes");
  }
  check_message<InvalidArgument>(
      [&] { opened->read_samples(Ids{0, 1}, Ids{0}, out, opened->handle()); },
      "1 offsets for 2 samples");
  check_message<InvalidArgument>([&] { opened->plan_samples(Ids{0, 1}, offset); },
                                 "1 offsets for 2 samples");
}

TEST_CASE_FIXTURE(Fixture, "read_samples: a file that was cut meanwhile") {
  open();
  testing::set_size(path, 1 << 20);
  Bytes out(256);
  testing::check_corrupt(
      [&] { opened->read_samples(Ids{0}, Ids{0}, out, opened->handle()); }, -1,
      "the file changed since it was opened: it has 1048576 bytes, expected 50331648; open it "
      "again");
}

TEST_CASE_FIXTURE(Fixture, "read_samples: from many threads") {
  open();
  std::vector<int> num_right(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < num_right.size(); ++t) {
      threads.emplace_back([&, t] {
        const InputFile handle = opened->open_handle();
        for (int i = 0; i < 50; ++i) {
          const Ids ids = {static_cast<std::int64_t>(t) % 5, 4, 0};
          Ids offsets(3);
          Bytes out(opened->plan_samples(ids, offsets));
          opened->read_samples(ids, offsets, out, handle);
          const Bytes& last = file.blocks[0][0].bytes;
          num_right[t] += std::equal(last.begin(), last.end(), out.begin() + offsets[2]);
        }
      });
    }
  }
  CHECK(num_right == std::vector<int>(4, 50));
}

}  // namespace
}  // namespace dts
