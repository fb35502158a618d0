// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_source.h"

#include <cstring>

#include "pipeline/block_store.h"
#include "support.h"

namespace dts {
namespace {

bool is_aligned(ByteSpan piece) {
  return reinterpret_cast<std::uintptr_t>(piece.data()) % kSampleAlignment == 0;
}

TEST_CASE("read memory: pieces stay where they are until it is cleared") {
  ReadMemory memory;
  std::vector<ByteSpan> pieces;
  for (std::size_t i = 0; i < 200; ++i) {
    pieces.push_back(memory.allocate(i * 977));
    REQUIRE(pieces.back().size() == i * 977);
    CHECK(is_aligned(pieces.back()));
    if (i > 0) std::memset(pieces[i].data(), static_cast<int>(i), pieces[i].size());
  }
  for (std::size_t i = 1; i < 200; ++i) {
    CHECK(memory.holds(pieces[i].data()));
    CHECK(std::all_of(pieces[i].begin(), pieces[i].end(),
                      [&](std::byte byte) { return byte == static_cast<std::byte>(i); }));
  }
}

TEST_CASE("read memory: sizes that repeat need no further memory") {
  ReadMemory memory;
  std::size_t held = 0;
  for (int round = 0; round < 6; ++round) {
    memory.clear();
    for (int i = 0; i < 50; ++i) memory.allocate(100'000);
    if (round >= 2) CHECK(memory.held_bytes() == held);
    held = memory.held_bytes();
  }
  CHECK(held < 2 * 50 * 100'032);
}

TEST_CASE("read memory: reserve gives one piece and keeps the larger memory") {
  ReadMemory memory;
  CHECK(memory.held_bytes() == 0);
  const ByteSpan large = memory.reserve(1 << 20);
  CHECK(is_aligned(large));
  CHECK(memory.held_bytes() == 1 << 20);
  const ByteSpan small = memory.reserve(100);
  CHECK(small.size() == 100);
  CHECK(small.data() == large.data());
  CHECK(memory.held_bytes() == 1 << 20);
  CHECK(memory.reserve((1 << 20) + 1).size() == (1 << 20) + 1);
  CHECK(memory.held_bytes() == (1 << 20) + 1);
  memory.release();
  CHECK(memory.held_bytes() == 0);
}

TEST_CASE("read memory: knows its addresses") {
  ReadMemory memory;
  const std::byte other{};
  CHECK_FALSE(memory.holds(&other));
  const ByteSpan piece = memory.reserve(10);
  CHECK(memory.holds(piece.data()));
  CHECK(memory.holds(piece.data() + 9));
  CHECK_FALSE(memory.holds(piece.data() + 10));
  CHECK_FALSE(memory.holds(&other));
  CHECK(memory.allocate(0).empty());
}

TEST_CASE("reader state: stopped by a flag it is told to watch") {
  ReaderState reader;
  CHECK_FALSE(reader.is_stopped());
  std::atomic<bool> stop{false};
  reader.watch(&stop);
  CHECK_FALSE(reader.is_stopped());
  stop = true;
  CHECK(reader.is_stopped());
  CHECK(reader.watched() == &stop);
}

// A source with nothing but what it must have.
class Plain : public SampleSource {
 public:
  std::int64_t num_samples() const override { return 2; }
  std::int64_t label(std::int64_t sample) const override {
    check_sample(sample);
    return 0;
  }
  std::int64_t choice_index(std::int64_t sample) const override { return sample; }
  std::unique_ptr<ReaderState> open_reader() const override {
    return std::make_unique<ReaderState>();
  }
  void read_samples(std::span<const std::int64_t> samples, ReadMemory&, std::span<SampleView> views,
                    ReaderState&) const override {
    check_views(samples.size(), views.size());
  }
};

TEST_CASE("source: without blocks nothing is kept, and blocks can't be read") {
  const Plain source;
  ReaderState reader;
  CHECK(source.block_bytes() == 0);
  CHECK(source.num_blocks() == 0);
  CHECK(source.num_kept_blocks() == 0);
  CHECK(source.num_held_blocks() == 0);
  CHECK(source.store() == nullptr);
  CHECK_FALSE(source.keep_next(true, reader));
  CHECK(source.kept().held_bytes == 0);
  CHECK_FALSE(source.kept().is_complete);
  CHECK(source.position(1) == 1);
  const std::string problem = "this source has no blocks, its samples are read singly";
  testing::check_message<InvalidArgument>([&] { source.block_of(0); }, problem);
  testing::check_message<InvalidArgument>([&] { source.read_block(0, {}, true, reader); }, problem);
  testing::check_message<InvalidArgument>([&] { source.view_in_block(0, {}); }, problem);
}

TEST_CASE("source: wrong samples and numbers of views") {
  const Plain source;
  ReaderState reader;
  ReadMemory memory;
  testing::check_message<OutOfRange>([&] { source.label(2); },
                                     "sample 2 is out of range, the source has 2");
  testing::check_message<OutOfRange>([&] { source.label(-1); },
                                     "sample -1 is out of range, the source has 2");
  const std::int64_t samples[] = {0, 1};
  SampleView view;
  testing::check_message<InvalidArgument>(
      [&] { source.read_samples(samples, memory, {&view, 1}, reader); }, "1 views for 2 samples");
}

}  // namespace
}  // namespace dts
