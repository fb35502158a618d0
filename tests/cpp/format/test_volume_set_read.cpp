// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <filesystem>

#include "format/small_set.h"
#include "format/volume_set.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_corrupt;
using testing::SmallSet;
using Ids = std::vector<std::int64_t>;

struct Fixture {
  SmallSet set;
  std::vector<std::string> paths = set.write();
  std::shared_ptr<VolumeSet> opened = VolumeSet::open(paths);
  std::vector<testing::SmallSample> samples = set.samples();
  VolumeHandles handles;

  Bytes read(const Ids& stored_ids, Ids& offsets) {
    offsets.resize(stored_ids.size());
    Bytes out(opened->plan_samples(stored_ids, offsets));
    opened->read_samples(stored_ids, offsets, out, handles);
    return out;
  }
};

TEST_CASE_FIXTURE(Fixture, "volume set: samples of several volumes in any order") {
  for (const Ids& ids : {Ids{0, 1, 2, 3, 4, 5, 6, 7, 8}, Ids{8, 0, 6, 6, 3, 7}, Ids{5}, Ids{}}) {
    Ids offsets;
    const Bytes out = read(ids, offsets);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Bytes& expected = samples[static_cast<std::size_t>(ids[i])].bytes;
      const auto at = out.begin() + offsets[i];
      CHECK(Bytes(at, at + static_cast<std::ptrdiff_t>(expected.size())) == expected);
      CHECK(offsets[i] % 64 == 0);
    }
  }
  Ids offsets(2);
  const Ids wrong = {1, 9};
  testing::check_message<OutOfRange>([&] { opened->plan_samples(wrong, offsets); },
                                     "stored sample 9 is out of range, the set has 9");
  Bytes out(256);
  testing::check_message<OutOfRange>([&] { opened->read_samples(wrong, offsets, out, handles); },
                                     "stored sample 9 is out of range, the set has 9");
  testing::check_message<InvalidArgument>(
      [&] { opened->read_samples(Ids{1}, offsets, out, handles); }, "2 offsets for 1 samples");
}

TEST_CASE_FIXTURE(Fixture, "volume set: blocks, and their samples in memory") {
  const Ids ids = {4, 0, 2};
  Bytes out(3 << 24);
  opened->read_blocks(ids, out, true, handles);
  const std::vector<ArenaSample> found = opened->index_samples(out, ids);
  const std::size_t stored[] = {8, 0, 1, 2, 5, 6};
  const std::uint32_t blocks[] = {4, 0, 0, 0, 2, 2};
  REQUIRE(found.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    const testing::SmallSample& expected = samples[stored[i]];
    CHECK(found[i].block_id == blocks[i]);
    CHECK(found[i].label == expected.label);
    const auto at = out.begin() + static_cast<std::ptrdiff_t>(found[i].offset);
    CHECK(Bytes(at, at + found[i].size) == expected.bytes);
  }
  testing::check_message<OutOfRange>([&] { opened->read_blocks(Ids{0, 1, 5}, out, true, handles); },
                                     "block 5 is out of range, the set has 5 blocks");
  testing::check_message<InvalidArgument>([&] { opened->read_blocks(Ids{0}, out, true, handles); },
                                          "out has 50331648 bytes, expected 1 blocks of 16777216");
  testing::check_message<InvalidArgument>(
      [&] { opened->index_samples(ConstByteSpan(out).first(5), Ids{0}); },
      "the arena has 5 bytes, expected 1 blocks of 16777216");
}

TEST_CASE_FIXTURE(Fixture, "volume set: damage names the volume and the block in it") {
  const std::uint64_t at = set.files[2].block_start(1) + 4096;
  testing::patch(paths[2], at, Bytes{std::byte{0xAA}});
  opened = VolumeSet::open(paths);
  Bytes out(1 << 24);
  const auto read_it = [&] { opened->read_blocks(Ids{4}, out, true, handles); };
  CHECK_THROWS_AS(read_it(), CorruptFile);
  try {
    read_it();
  } catch (const CorruptFile& error) {
    CHECK(error.path == paths[2]);
    CHECK(error.offset == static_cast<std::int64_t>(set.files[2].block_start(1)));
    CHECK(std::string(error.what()).find("block 1 (stored samples 1..1): CRC-32 is") == 0);
  }
  std::string problem;
  opened->check_block(4, out, handles, problem);
  CHECK(problem.find("block 1 (stored samples 1..1): CRC-32 is") == 0);
  CHECK(opened->check_block(2, out, handles, problem) == set.files[1].block_crc(0));
  CHECK(problem.empty());
}

TEST_CASE_FIXTURE(Fixture, "volume set: a volume that changes is seen") {
  Ids offsets;
  read({0, 5}, offsets);
  CHECK(handles.find(0) != nullptr);
  CHECK(handles.find(1) != nullptr);
  CHECK(handles.find(2) == nullptr);
  opened->check_unchanged(handles);
  testing::set_size(paths[1], 5 << 24);
  CHECK_THROWS_AS(opened->check_unchanged(handles), CorruptFile);
  CHECK_THROWS_AS(read({5}, offsets), CorruptFile);
  read({0}, offsets);
  std::filesystem::remove(paths[2]);
  set.files[2].write(paths[2]);
  check_corrupt([&] { read({7}, offsets); }, -1,
                "the file changed since it was opened: another file has its name now; open it "
                "again");
}

TEST_CASE("volume set: few handles are open at a time") {
  testing::TempDir dir;
  std::vector<std::string> paths;
  for (std::uint32_t v = 0; v < 12; ++v) {
    testing::SmallFile file = testing::small_volume(1, true);
    file.header.num_volumes = 12;
    file.header.volume_id = v;
    paths.push_back(dir / (std::to_string(v) + ".dts"));
    file.write(paths.back());
  }
  const auto opened = VolumeSet::open(paths);
  VolumeHandles handles;
  for (std::size_t v = 0; v < 12; ++v) {
    CHECK(handles.of(*opened, v).path() == paths[v]);
    handles.of(*opened, 0);
  }
  std::size_t num_open = 0;
  for (std::size_t v = 0; v < 12; ++v) num_open += handles.find(v) != nullptr;
  CHECK(num_open == 8);
  CHECK(handles.find(0) != nullptr);
  CHECK(handles.find(11) != nullptr);
  CHECK(handles.find(1) == nullptr);
}

}  // namespace
}  // namespace dts
