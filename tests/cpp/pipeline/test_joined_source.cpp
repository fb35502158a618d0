// SPDX-License-Identifier: Apache-2.0
#include "pipeline/joined_source.h"

#include "fake_source.h"
#include "pipeline/block_feeder.h"
#include "pipeline/pixel_source.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_bytes;
using testing::FakeSource;

// A part in another order than its data set's.
class Turned : public FakeSource {
 public:
  using FakeSource::FakeSource;
  std::int64_t position(std::int64_t sample) const override { return num_samples() - 1 - sample; }
};

struct Bench {
  std::shared_ptr<Turned> first = std::make_shared<Turned>(std::vector<std::int64_t>{2, 3});
  Bytes pixels = testing::noise(4 * 6, 9);
  std::shared_ptr<PixelSource> second = std::make_shared<PixelSource>(
      pixels, 2, 3, 1, std::vector<std::int64_t>{50, 51, 52, 53}, nullptr);
  std::shared_ptr<FakeSource> empty = std::make_shared<FakeSource>(std::vector<std::int64_t>{});
  std::shared_ptr<FakeSource> third = std::make_shared<FakeSource>(std::vector<std::int64_t>{3});
  JoinedSource joined{{first, second, empty, third}};
};

TEST_CASE("joined source: one part behind the other") {
  const Bench bench;
  const JoinedSource& joined = bench.joined;
  CHECK(joined.num_samples() == 12);
  CHECK(joined.num_blocks() == 0);
  const std::int64_t labels[] = {0, 7, 14, 21, 28, 50, 51, 52, 53, 0, 7, 14};
  // The position in the whole, by each part's own order.
  const std::int64_t positions[] = {4, 3, 2, 1, 0, 5, 6, 7, 8, 9, 10, 11};
  for (std::int64_t i = 0; i < 12; ++i) {
    CHECK(joined.label(i) == labels[i]);
    CHECK(joined.position(i) == positions[i]);
    CHECK(joined.choice_index(i) == positions[i]);
  }
  testing::check_message<OutOfRange>([&] { joined.label(12); },
                                     "sample 12 is out of range, the source has 12");
  testing::check_message<InvalidArgument>([] { JoinedSource({}); },
                                          "no sources to join, expected at least one");
}

TEST_CASE("joined source: samples of all parts in one read, also of joined parts") {
  const Bench bench;
  const auto inner = std::make_shared<JoinedSource>(
      std::vector<std::shared_ptr<const SampleSource>>{bench.third, bench.first});
  const JoinedSource whole({inner, bench.second});
  CHECK(whole.choice_index(3) == 3 + 4);
  const auto reader = whole.open_reader();
  ReadMemory memory;
  const std::vector<std::int64_t> samples = {9, 0, 7, 3, 9, 2, 11, 4};
  std::vector<SampleView> views(samples.size());
  whole.read_samples(samples, memory, views, *reader);
  check_bytes(views[1], 0);
  check_bytes(views[2], 4);
  check_bytes(views[3], 0);
  check_bytes(views[5], 2);
  check_bytes(views[7], 1);
  CHECK(views[0].bytes.data() == bench.pixels.data() + 6);
  CHECK(views[4].bytes.data() == bench.pixels.data() + 6);
  CHECK(views[6].bytes.data() == bench.pixels.data() + 18);
  CHECK(views[6].width == 3);
  CHECK(reader->bytes_read ==
        static_cast<std::int64_t>(2 * FakeSource::size_of(0) + FakeSource::size_of(4) +
                                  FakeSource::size_of(2) + FakeSource::size_of(1)));
}

TEST_CASE("joined source: parts are opened when they are first read, and stop with the whole") {
  const Bench bench;
  int num_opened = 0;
  bench.first->on_open = [&] { ++num_opened; };
  const auto reader = bench.joined.open_reader();
  std::atomic<bool> stop{false};
  reader->watch(&stop);
  ReadMemory memory;
  std::vector<SampleView> views(1);
  const std::int64_t third[] = {9};
  bench.joined.read_samples(third, memory, views, *reader);
  CHECK(num_opened == 0);
  const std::int64_t first[] = {1};
  bench.joined.read_samples(first, memory, views, *reader);
  bench.joined.read_samples(first, memory, views, *reader);
  CHECK(num_opened == 1);
  bench.joined.check_unchanged(*reader);
  CHECK(num_opened == 1);
  stop = true;
  bench.first->on_samples = [&](std::span<const std::int64_t>) { FAIL("read after the stop"); };
  bench.joined.read_samples(first, memory, views, *reader);
}

TEST_CASE("joined source: what its parts keep is used and filled") {
  const Bench bench;
  bench.first->kept_in = make_private_store(2, FakeSource::kBlockBytes);
  bench.third->kept_in = make_private_store(1, FakeSource::kBlockBytes);
  const auto joined = std::make_shared<JoinedSource>(
      std::vector<std::shared_ptr<const SampleSource>>{bench.first, bench.second, bench.third});
  CHECK(joined->num_kept_blocks() == 3);
  const auto reader = joined->open_reader();
  CHECK(joined->keep_next(true, *reader));
  CHECK(reader->blocks_read == 1);
  CHECK(joined->num_held_blocks() == 1);
  CHECK_FALSE(joined->kept().is_shared);

  BlockFeeder feeder(joined, {});
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < 12; ++i) samples.push_back(i);
  int num_reads = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    feeder.start();
    feeder.append({samples, {}});
    const auto views = feeder.wait(0);
    for (std::size_t i = 0; i < 5; ++i) check_bytes(views[i], static_cast<std::int64_t>(i));
    for (std::size_t i = 9; i < 12; ++i) check_bytes(views[i], static_cast<std::int64_t>(i) - 9);
    feeder.stop();
    if (epoch == 0) num_reads = bench.first->num_reads() + bench.third->num_reads();
  }
  CHECK(joined->num_held_blocks() == 3);
  CHECK(num_reads == 3);
  CHECK(bench.first->num_reads() + bench.third->num_reads() == num_reads);
  CHECK_FALSE(joined->keep_next(true, *reader));
}

TEST_CASE("joined source: bytes held by all parts") {
  const Bytes pixels(24);
  const auto part =
      std::make_shared<PixelSource>(pixels, 2, 3, 1, std::vector<std::int64_t>(4), nullptr);
  const JoinedSource both({part, part});
  CHECK(both.kept().held_bytes == 48);
  CHECK(both.kept().is_complete);
  const JoinedSource mixed({part, std::make_shared<FakeSource>(std::vector<std::int64_t>{1})});
  CHECK(mixed.kept().held_bytes == 24);
  CHECK_FALSE(mixed.kept().is_complete);
}

}  // namespace
}  // namespace dts
