// SPDX-License-Identifier: Apache-2.0
#include "pipeline/dts_source.h"

#include <thread>

#include "base/file_calls.h"
#include "fake_source.h"
#include "format/raw_head.h"
#include "format/raw_sample.h"
#include "format/small_file.h"
#include "format/small_set.h"
#include "pipeline/block_feeder.h"
#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::kSmallOrder;
using testing::SmallFile;
using testing::TempDir;

// The bytes the reading calls of this scope asked for.
std::atomic<std::int64_t> num_preads{0};
ssize_t counting_pread(int descriptor, void* buffer, std::size_t count, off_t offset) {
  ++num_preads;
  return ::pread(descriptor, buffer, count, offset);
}

struct Bench {
  explicit Bench(Keep keep = Keep::kNothing, SmallFile file = testing::small_file()) {
    path = dir / "a.dts";
    file.write(path);
    for (const auto& block : file.blocks) {
      for (const auto& sample : block) samples.push_back(sample);
    }
    source = std::make_shared<DtsSource>(VolumeSet::open({path}), keep);
    reader = source->open_reader();
  }

  // Reads and compares with what was written.
  std::vector<SampleView> read(const std::vector<std::int64_t>& stored) {
    std::vector<SampleView> views(stored.size());
    memory.clear();
    source->read_samples(stored, memory, views, *reader);
    for (std::size_t i = 0; i < stored.size(); ++i) {
      const Bytes& expected = samples[static_cast<std::size_t>(stored[i])].bytes;
      CHECK(Bytes(views[i].bytes.begin(), views[i].bytes.end()) == expected);
      CHECK(views[i].height == 0);
      CHECK_FALSE(views[i].is_missing);
    }
    return views;
  }

  TempDir dir;
  std::string path;
  std::vector<testing::SmallSample> samples;
  std::shared_ptr<DtsSource> source;
  std::unique_ptr<ReaderState> reader;
  ReadMemory memory;
};

TEST_CASE("dts source: numbers, labels and choice indices by stored index") {
  for (const bool is_old : {false, true}) {
    Bench bench(Keep::kNothing, is_old ? testing::small_old_file() : testing::small_file());
    const DtsSource& source = *bench.source;
    REQUIRE(source.num_samples() == 5);
    CHECK(source.num_blocks() == 2);
    CHECK(source.block_bytes() == 16 << 20);
    for (std::int64_t i = 0; i < 5; ++i) {
      const auto at = static_cast<std::size_t>(i);
      CHECK(source.label(i) == bench.samples[at].label);
      CHECK(source.choice_index(i) == (is_old ? i : kSmallOrder[at]));
      CHECK(source.position(i) == source.choice_index(i));
      CHECK(source.block_of(i) == (i < 3 ? 0 : 1));
    }
    testing::check_message<OutOfRange>([&] { source.label(5); },
                                       "sample 5 is out of range, the source has 5");
    testing::check_message<OutOfRange>([&] { source.block_of(-1); },
                                       "sample -1 is out of range, the source has 5");
  }
}

TEST_CASE("dts source: samples of pixels in files of version 3.1 alone") {
  for (const int minor : {0, 1}) {
    CAPTURE(minor);
    SmallFile file = testing::small_old_file();
    file.header.version = {3, static_cast<std::uint8_t>(minor), 0, 0};
    Bytes raw(kRawHeadBytes + 12, std::byte{7});
    testing::write_raw_head({2, 2, 3}, raw);
    file.blocks[0][1].bytes = raw;
    Bytes broken = raw;
    broken[9] = std::byte{1};
    file.blocks[1][0].bytes = broken;
    Bench bench(Keep::kNothing, file);
    std::vector<SampleView> views(3);
    bench.source->read_samples(std::vector<std::int64_t>{0, 1, 3}, bench.memory, views,
                               *bench.reader);
    CHECK(views[0].height == 0);
    CHECK(views[2].height == 0);
    CHECK(Bytes(views[2].bytes.begin(), views[2].bytes.end()) == broken);
    Bytes block(static_cast<std::size_t>(bench.source->block_bytes()));
    bench.source->read_block(0, block, false, *bench.reader);
    for (const SampleView& view : {views[1], bench.source->view_in_block(1, block)}) {
      const Bytes found(view.bytes.begin(), view.bytes.end());
      if (minor == 0) {
        CHECK(view.height == 0);
        CHECK(found == raw);
      } else {
        CHECK(view.height == 2);
        CHECK(view.width == 2);
        CHECK(view.channels == 3);
        CHECK(found == Bytes(12, std::byte{7}));
      }
    }
  }
}

TEST_CASE("dts source: in a volume positions count its own samples alone") {
  SmallFile file = testing::small_old_file();
  file.header.num_volumes = 2;
  file.header.volume_id = 1;
  file.add_tables({30, 10, 40, 0, 20});
  file.add_head();
  Bench bench(Keep::kNothing, file);
  for (std::int64_t i = 0; i < 5; ++i) {
    CHECK(bench.source->choice_index(i) == 10 * kSmallOrder[static_cast<std::size_t>(i)]);
    CHECK(bench.source->position(i) == kSmallOrder[static_cast<std::size_t>(i)]);
    CHECK(bench.source->label(i) == bench.samples[static_cast<std::size_t>(i)].label);
  }
}

TEST_CASE("dts source: single samples in any order, also twice") {
  Bench bench;
  bench.read({0, 1, 2, 3, 4});
  bench.read({4, 1, 3, 3, 0, 2});
  bench.read({});
  bench.read({2});
  CHECK(bench.reader->bytes_read == (100 + 64 + 300 + 65) + (65 + 300 + 300 + 100 + 64) + 64);
  CHECK_THROWS_AS(bench.read({0, 5}), OutOfRange);
  std::vector<SampleView> views(1);
  const std::int64_t two[] = {0, 1};
  testing::check_message<InvalidArgument>(
      [&] { bench.source->read_samples(two, bench.memory, views, *bench.reader); },
      "1 views for 2 samples");
}

TEST_CASE("dts source: many samples are read in several steps, and a stopped reader ends early") {
  // 40 samples of 400 KB: four times what is read between two looks at the flag.
  SmallFile file = testing::small_old_file();
  file.blocks.clear();
  for (std::uint32_t i = 0; i < 40; ++i) {
    if (i % 10 == 0) file.blocks.emplace_back();
    file.blocks.back().push_back({testing::noise(400'000 + i, i), 1});
  }
  file.header.num_samples = 40;
  file.header.num_blocks = file.header.total_blocks = 4;
  file.header.block_bytes = 64 << 20;
  file.header.total_bytes = 80 << 20;
  Bench bench(Keep::kNothing, file);
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 40; ++i) all.push_back(i * 7 % 40);
  bench.read(all);
  std::atomic<bool> stop{true};
  bench.reader->watch(&stop);
  bench.reader->bytes_read = 0;
  std::vector<SampleView> views(40);
  bench.memory.clear();
  bench.source->read_samples(all, bench.memory, views, *bench.reader);
  CHECK(bench.reader->bytes_read == 0);
}

TEST_CASE("dts source: whole blocks, checked, with views of their samples") {
  Bench bench;
  Bytes block(16 << 20);
  for (const std::int64_t number : {1, 0}) {
    bench.source->read_block(number, block, true, *bench.reader);
    for (std::int64_t i = number == 0 ? 0 : 3; i < (number == 0 ? 3 : 5); ++i) {
      const SampleView view = bench.source->view_in_block(i, block);
      CHECK(Bytes(view.bytes.begin(), view.bytes.end()) ==
            bench.samples[static_cast<std::size_t>(i)].bytes);
      CHECK(view.bytes.data() > block.data());
    }
  }
  CHECK(bench.reader->blocks_read == 2);
  CHECK(bench.reader->bytes_read == 32 << 20);
  testing::check_message<InvalidArgument>(
      [&] { bench.source->view_in_block(4, ConstByteSpan(block).first(4400)); },
      "a block's memory has 4400 bytes, expected 16777216");
}

TEST_CASE("dts source: a flipped byte is found where blocks are checked") {
  Bench bench;
  testing::patch(bench.path, (16 << 20) + 4096, Bytes(1, std::byte{0x5A}));
  bench.source = std::make_shared<DtsSource>(VolumeSet::open({bench.path}));
  bench.reader = bench.source->open_reader();
  Bytes block(16 << 20);
  CHECK_THROWS_AS(bench.source->read_block(0, block, true, *bench.reader), CorruptFile);
  bench.source->read_block(0, block, false, *bench.reader);
  CHECK(bench.source->view_in_block(0, block).bytes[0] == std::byte{0x5A});
}

TEST_CASE("dts source: a file that changed is an error of every read") {
  Bench bench;
  testing::set_size(bench.path, (48 << 20) + 1);
  Bytes block(16 << 20);
  const std::string problem =
      "the file changed since it was opened: it has 50331649 bytes, expected 50331648; open it "
      "again";
  testing::check_corrupt([&] { bench.source->check_unchanged(*bench.reader); }, -1, problem);
  testing::check_corrupt([&] { bench.read({1, 2}); }, -1, problem);
  testing::check_corrupt([&] { bench.source->read_block(0, block, true, *bench.reader); }, -1,
                         problem);
  bench.reader = bench.source->open_reader();
  testing::check_corrupt([&] { bench.read({1, 2}); }, -1, problem);
}

TEST_CASE("dts source: samples of kept blocks are views, others are read") {
  Bench bench(Keep::kPrivate);
  const auto store = bench.source->store();
  REQUIRE(store != nullptr);
  CHECK(bench.source->num_kept_blocks() == 2);
  const ConstByteSpan block = store->load(1, *bench.source, true, *bench.reader);
  CHECK(bench.source->num_held_blocks() == 1);
  CHECK(bench.source->kept().held_bytes == 16 << 20);
  CHECK_FALSE(bench.source->kept().is_complete);
  const auto views = bench.read({4, 0, 3, 2});
  CHECK_FALSE(bench.memory.holds(views[0].bytes.data()));
  CHECK(views[0].bytes.data() > block.data());
  CHECK(views[0].bytes.data() < block.data() + block.size());
  CHECK(bench.memory.holds(views[1].bytes.data()));
  CHECK_FALSE(bench.memory.holds(views[2].bytes.data()));
  CHECK(bench.source->keep_next(true, *bench.reader));
  CHECK_FALSE(bench.source->keep_next(true, *bench.reader));
  CHECK(bench.source->kept().is_complete);

  // From here on no read goes to the disk.
  testing::FileCallsScope calls;
  calls->pread = counting_pread;
  num_preads = 0;
  std::filesystem::remove(bench.path);
  bench.reader = bench.source->open_reader();
  bench.read({0, 1, 2, 3, 4});
  CHECK(num_preads == 0);
  CHECK(bench.memory.held_bytes() > 0);
}

TEST_CASE("dts source: memory that processes share is the same for the same file") {
  Bench bench(Keep::kShared);
  const auto store = bench.source->store();
  CHECK(store->is_shared());
  CHECK(bench.source->kept().is_shared);
  const DtsSource again(VolumeSet::open({bench.path}), Keep::kShared);
  CHECK(again.store() == store);
  // The same content under another name, and another content under the same name.
  std::filesystem::copy(bench.path, bench.dir / "copy.dts");
  CHECK(DtsSource(VolumeSet::open({bench.dir / "copy.dts"}), Keep::kShared).store() == store);
  SmallFile other = testing::small_file();
  other.blocks[1][0].bytes[7] ^= std::byte{1};
  other.set("BIDX", testing::words({3, other.block_crc(0), 2, other.block_crc(1)}));
  std::filesystem::remove(bench.path);
  other.write(bench.path);
  CHECK(DtsSource(VolumeSet::open({bench.path}), Keep::kShared).store() != store);
}

TEST_CASE("dts source: without CRCs only the very same file is the same") {
  Bench bench(Keep::kShared, testing::small_old_file());
  const DtsSource again(VolumeSet::open({bench.path}), Keep::kShared);
  CHECK(again.store() == bench.source->store());
  std::filesystem::copy(bench.path, bench.dir / "copy.dts");
  const DtsSource copy(VolumeSet::open({bench.dir / "copy.dts"}), Keep::kShared);
  CHECK(copy.store() != bench.source->store());
}

// The second piece of a block is held up until a test lets it go.
std::atomic<int> num_pieces{0};
std::unique_ptr<testing::Gate> second_began;
std::unique_ptr<testing::Gate> second_may_end;
ssize_t held_pread(int descriptor, void* buffer, std::size_t count, off_t offset) {
  if (count == kReadPieceBytes && ++num_pieces == 2) {
    second_began->open();
    second_may_end->wait();
  }
  return ::pread(descriptor, buffer, count, offset);
}

TEST_CASE("dts source: a stream that is stopped asks for no further piece of a block") {
  for (const Keep keep : {Keep::kNothing, Keep::kPrivate, Keep::kShared}) {
    Bench bench(keep);
    testing::FileCallsScope calls;
    calls->pread = held_pread;
    num_pieces = 0;
    second_began = std::make_unique<testing::Gate>();
    second_may_end = std::make_unique<testing::Gate>();
    BlockFeeder feeder(bench.source, {});
    feeder.start();
    feeder.append({{0}, {0}});
    second_began->wait();
    std::thread stopper([&] { feeder.stop(); });
    CHECK(feeder.wait(0).empty());  // once it is stopping
    second_may_end->open();
    stopper.join();
    CHECK(num_pieces == 2);
    CHECK(bench.source->num_held_blocks() == 0);
    CHECK(feeder.stats().blocks_read == 0);
    // The next stream reads it whole.
    feeder.start();
    feeder.append({{0}, {0}});
    const auto views = feeder.wait(0);
    REQUIRE(views.size() == 1);
    CHECK(Bytes(views[0].bytes.begin(), views[0].bytes.end()) == bench.samples[0].bytes);
  }
}

TEST_CASE("dts source: the volumes of a set are one list of blocks and samples") {
  for (const Keep keep : {Keep::kNothing, Keep::kPrivate, Keep::kShared}) {
    testing::SmallSet set;
    const auto samples = set.samples();
    const DtsSource source(VolumeSet::open(set.write()), keep);
    REQUIRE(source.num_samples() == 9);
    REQUIRE(source.num_blocks() == 5);
    const std::int64_t blocks[] = {0, 0, 0, 1, 1, 2, 2, 3, 4};
    const auto reader = source.open_reader();
    if (keep != Keep::kNothing) {
      while (source.keep_next(true, *reader)) {
      }
      CHECK(source.num_held_blocks() == 5);
      CHECK(source.kept().is_complete);
    }
    ReadMemory memory;
    std::vector<SampleView> views(9);
    source.read_samples(std::vector<std::int64_t>{8, 7, 6, 5, 4, 3, 2, 1, 0}, memory, views,
                        *reader);
    Bytes block(1 << 24);
    for (std::int64_t i = 0; i < 9; ++i) {
      const auto at = static_cast<std::size_t>(i);
      CHECK(source.block_of(i) == blocks[at]);
      CHECK(source.label(i) == samples[at].label);
      CHECK(source.choice_index(i) == testing::kSetOrder[at]);
      CHECK(source.position(i) == testing::kSetOrder[at]);
      const ConstByteSpan single = views[8 - at].bytes;
      CHECK(Bytes(single.begin(), single.end()) == samples[at].bytes);
      source.read_block(blocks[at], block, true, *reader);
      const ConstByteSpan inside = source.view_in_block(i, block).bytes;
      CHECK(Bytes(inside.begin(), inside.end()) == samples[at].bytes);
    }
    source.check_unchanged(*reader);
  }
}

TEST_CASE("dts source: a set's shared memory is its own") {
  testing::SmallSet set;
  const auto paths = set.write();
  const DtsSource one(VolumeSet::open(paths), Keep::kShared);
  CHECK(DtsSource(VolumeSet::open({paths[1], paths[2], paths[0]}), Keep::kShared).store() ==
        one.store());
  CHECK(DtsSource(VolumeSet::open({paths[0]}), Keep::kShared).store() != one.store());
}

TEST_CASE("dts source: a file of pixels is refused") {
  Header header;
  header.dataset_type = "MNIST";
  header.num_classes = 10;
  header.image_width = header.image_height = 28;
  header.num_channels = 1;
  header.color_type = "GRAY";
  header.num_samples = header.num_blocks = header.total_blocks = 1;
  header.header_bytes = 256;
  header.block_bytes = header.block_size = 785;
  header.block_header_size = header.pic_alignment = 0;
  const TempDir dir;
  testing::patch(dir / "a.dts", 0, serialize_header(header));
  testing::set_size(dir / "a.dts", 256 + 785);
  const auto set = VolumeSet::open({dir / "a.dts"});
  testing::check_message<InvalidArgument>([&] { DtsSource source(set); },
                                          "a pixel file (MNIST) has no blocks");
}

TEST_CASE("dts source: keeps nothing unless it is asked to") {
  const Bench bench;
  CHECK(bench.source->store() == nullptr);
  CHECK(bench.source->num_kept_blocks() == 0);
  CHECK_FALSE(bench.source->keep_next(true, *bench.reader));
  CHECK(bench.source->kept().held_bytes == 0);
}

}  // namespace
}  // namespace dts
