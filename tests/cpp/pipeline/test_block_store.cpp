// SPDX-License-Identifier: Apache-2.0
#include "pipeline/block_store.h"

#include <set>
#include <thread>

#include "fake_source.h"

namespace dts {
namespace {

using testing::check_bytes;
using testing::FakeSource;
using testing::Gate;

std::shared_ptr<BlockStore> store_of(const FakeSource& source) {
  return make_private_store(source.num_blocks(), FakeSource::kBlockBytes);
}

void check_block(const FakeSource& source, std::int64_t block, ConstByteSpan memory) {
  REQUIRE(memory.size() == FakeSource::kBlockBytes);
  for (const std::int64_t sample : source.samples_of(block)) {
    check_bytes(source.view_in_block(sample, memory), sample);
  }
}

TEST_CASE("private store: blocks are absent until they are loaded") {
  const FakeSource source({2, 3, 1});
  const auto store = store_of(source);
  ReaderState reader;
  CHECK(store->find(1).empty());
  CHECK(store->held_bytes() == 0);
  const ConstByteSpan loaded = store->load(1, source, true, reader);
  check_block(source, 1, loaded);
  CHECK(store->find(1).data() == loaded.data());
  CHECK(store->load(1, source, true, reader).data() == loaded.data());
  CHECK(source.block_reads(1) == 1);
  CHECK(source.last_check);
  CHECK(store->num_held_blocks() == 1);
  CHECK(store->held_bytes() == FakeSource::kBlockBytes);
  CHECK_FALSE(store->is_complete());
  CHECK_FALSE(store->is_shared());
  store->load(0, source, false, reader);
  CHECK_FALSE(source.last_check);
  store->load(2, source, false, reader);
  CHECK(store->is_complete());
  check_block(source, 1, store->find(1));
}

TEST_CASE("private store: two threads load a block once") {
  FakeSource source({2, 3});
  Gate has_begun;
  Gate may_go_on;
  source.on_block = [&](std::int64_t) {
    has_begun.open();
    may_go_on.wait();
  };
  const auto store = store_of(source);
  ReaderState reader;
  std::thread first([&] { store->load(1, source, true, reader); });
  has_begun.wait();
  CHECK(store->find(1).empty());
  CHECK(store->next_absent() == 0);
  CHECK(store->next_absent() == 0);  // block 1 has been begun
  std::thread second([&] {
    ReaderState own;
    check_block(source, 1, store->load(1, source, true, own));
  });
  may_go_on.open();
  first.join();
  second.join();
  CHECK(source.block_reads(1) == 1);
}

TEST_CASE("private store: after an error the block is absent, and the next one tries again") {
  FakeSource source({2, 3});
  bool is_bad = true;
  source.on_block = [&](std::int64_t) {
    if (is_bad) throw IoError(5, "a.dts", "reading");
  };
  const auto store = store_of(source);
  ReaderState reader;
  CHECK_THROWS_AS(store->load(1, source, true, reader), IoError);
  CHECK(store->find(1).empty());
  CHECK(store->num_held_blocks() == 0);
  is_bad = false;
  check_block(source, 1, store->load(1, source, true, reader));
}

TEST_CASE("private store: absent blocks are handed out one after the other") {
  const FakeSource source({1, 1, 1, 1});
  const auto store = store_of(source);
  ReaderState reader;
  store->load(2, source, true, reader);
  std::set<std::int64_t> handed_out;
  for (int i = 0; i < 3; ++i) handed_out.insert(store->next_absent());
  CHECK(handed_out == std::set<std::int64_t>{0, 1, 3});
  CHECK(store->next_absent() >= 0);  // nobody has loaded them
  for (const std::int64_t block : handed_out) store->load(block, source, true, reader);
  CHECK(store->next_absent() == -1);
}

TEST_CASE("private store: wrong numbers") {
  const FakeSource source({1});
  const auto store = store_of(source);
  ReaderState reader;
  CHECK_THROWS_WITH_AS(store->find(1), "block 1 is out of range, the store has 1", OutOfRange);
  CHECK_THROWS_WITH_AS(store->load(-1, source, true, reader),
                       "block -1 is out of range, the store has 1", OutOfRange);
  CHECK_THROWS_WITH_AS(make_private_store(-1, 4096), "a store of -1 blocks of 4096 bytes",
                       InvalidArgument);
  CHECK_THROWS_WITH_AS(make_private_store(1, 0), "a store of 1 blocks of 0 bytes", InvalidArgument);
  CHECK(make_private_store(0, 1)->is_complete());
  CHECK(make_private_store(0, 1)->next_absent() == -1);
}

TEST_CASE("FakeSource: more samples than a block has room for") {
  const FakeSource source({16, 17});
  ReaderState reader;
  testing::Bytes memory(FakeSource::kBlockBytes);
  CHECK(source.read_block(0, memory, true, reader));
  check_bytes(source.view_in_block(15, memory), 15);
  CHECK_THROWS_WITH_AS(source.read_block(1, memory, true, reader),
                       "a block of FakeSource has room for 16 samples, not for 17",
                       std::logic_error);
}

}  // namespace
}  // namespace dts
