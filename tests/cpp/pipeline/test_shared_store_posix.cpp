// SPDX-License-Identifier: Apache-2.0
#include "pipeline/shared_store.h"

#include <set>
#include <thread>

#include "child_process.h"
#include "fake_source.h"
#include "pipeline/shared_store_handover.h"
#include "pipeline/shared_store_region.h"

namespace dts {
namespace {

using testing::check_bytes;
using testing::Child;
using testing::FakeSource;
using testing::Gate;
using testing::own_name;

std::shared_ptr<BlockStore> open_store(const FakeSource& source, const std::string& name,
                                       std::int64_t patience_ms = 10'000) {
  return open_shared_store(name, source.num_blocks(), FakeSource::kBlockBytes, patience_ms);
}

// Whether the memory holds what the source has there; for children, where CHECK is not seen.
bool is_block(const FakeSource& source, std::int64_t block, ConstByteSpan memory) {
  if (memory.size() != FakeSource::kBlockBytes) return false;
  for (const std::int64_t sample : source.samples_of(block)) {
    const auto expected = FakeSource::bytes_of_sample(sample);
    const ConstByteSpan bytes = source.view_in_block(sample, memory).bytes;
    if (!std::equal(bytes.begin(), bytes.end(), expected.begin(), expected.end())) return false;
  }
  return true;
}

TEST_CASE("shared store: blocks are loaded once and stay where they are") {
  const FakeSource source({2, 3, 1});
  const auto store = open_store(source, own_name("a"));
  CHECK(store->is_shared());
  CHECK(open_store(source, own_name("a")) == store);
  CHECK(open_store(source, own_name("b")) != store);
  ReaderState reader;
  CHECK(store->find(1).empty());
  CHECK(store->next_absent() == 0);
  CHECK(store->next_absent() == 1);
  const ConstByteSpan loaded = store->load(1, source, false, reader);
  CHECK(is_block(source, 1, loaded));
  CHECK(source.last_check);  // though this process would not
  CHECK(store->load(1, source, true, reader).data() == loaded.data());
  CHECK(store->find(1).data() == loaded.data());
  CHECK(source.block_reads(1) == 1);
  CHECK(reader.blocks_read == 1);
  CHECK(store->num_held_blocks() == 1);
  CHECK(store->held_bytes() == FakeSource::kBlockBytes);
  CHECK(store->next_absent() == 2);
  CHECK(store->next_absent() == 0);
  CHECK_FALSE(store->is_complete());
  store->load(0, source, true, reader);
  store->load(2, source, true, reader);
  CHECK(store->is_complete());
  CHECK(store->next_absent() == -1);
  CHECK_THROWS_AS(store->find(3), OutOfRange);
  CHECK_THROWS_AS(store->load(-1, source, true, reader), OutOfRange);
}

TEST_CASE("shared store: processes fill it together, each block is read by one of them") {
  const FakeSource source(std::vector<std::int64_t>(60, 3));
  const std::string name = own_name("together");
  const auto fill = [&] {
    const auto store = open_store(source, name);
    ReaderState reader;
    for (std::int64_t block = store->next_absent(); block >= 0; block = store->next_absent()) {
      store->load(block, source, true, reader);
    }
    for (std::int64_t block = 0; block < 60; ++block) {
      if (!is_block(source, block, store->load(block, source, true, reader))) return -1;
    }
    return store->is_complete() && store->is_shared() ? static_cast<int>(reader.blocks_read) : -1;
  };
  int counts[2] = {-1, -1};
  REQUIRE(::pipe(counts) == 0);
  const auto work = [&](Child& self) {
    self.hear();
    const int done = fill();
    // The maker stays until the others have all they want.
    self.say();
    self.hear();
    return ::write(counts[1], &done, sizeof done) == sizeof done;
  };
  Child first(work);
  Child second(work);
  Child third(work);
  const auto store = open_store(source, name);
  for (Child* child : {&first, &second, &third}) child->say();
  for (Child* child : {&first, &second, &third}) CHECK(child->hear());
  for (Child* child : {&first, &second, &third}) child->say();
  for (Child* child : {&first, &second, &third}) CHECK(child->join());
  int total = 0;
  for (int i = 0; i < 3; ++i) {
    int done = -1;
    REQUIRE(::read(counts[0], &done, sizeof done) == sizeof done);
    CHECK(done >= 0);
    total += done;
  }
  ::close(counts[0]);
  ::close(counts[1]);
  CHECK(total == 60);
  CHECK(store->is_complete());
  for (std::int64_t block = 0; block < 60; ++block)
    CHECK(is_block(source, block, store->find(block)));
  CHECK(source.num_reads() == 0);
}

TEST_CASE("shared store: a block whose process was killed is taken over") {
  FakeSource source({2, 3});
  const std::string name = own_name("killed");
  for (const bool is_loaded : {true, false}) {
    CAPTURE(is_loaded);
    Child child([&](Child& self) {
      self.hear();
      const auto store = open_store(source, name);
      source.on_block = [&](std::int64_t block) {
        if (block == 0) return;
        self.say();
        self.hear();  // for ever
      };
      ReaderState reader;
      store->load(0, source, true, reader);
      store->load(1, source, true, reader);
      return false;
    });
    FakeSource own({2, 3});
    const auto store = open_store(own, name);
    child.say();
    REQUIRE(child.hear());
    CHECK(store->next_absent() == -1);  // block 1 has been begun
    CHECK(is_block(own, 0, store->find(0)));
    CHECK(store->find(1).empty());
    ReaderState reader;
    if (is_loaded) {
      // It waits for the child, until that is dead.
      std::thread killer([&] { child.kill(); });
      CHECK(is_block(own, 1, store->load(1, own, true, reader)));
      killer.join();
    } else {
      child.kill();
      CHECK(store->next_absent() == 1);
      CHECK(is_block(own, 1, store->load(1, own, true, reader)));
    }
    CHECK(own.block_reads(1) == 1);
    CHECK(store->is_complete());
    CHECK(store->is_shared());
    CHECK(store->num_held_blocks() == 2);
  }
}

TEST_CASE("shared store: a process that does not get on is not waited for too long") {
  FakeSource source({2, 3});
  const std::string name = own_name("patience");
  Child child([&](Child& self) {
    self.hear();
    const auto store = open_store(source, name);
    source.on_block = [&](std::int64_t) {
      self.say();
      self.hear();
    };
    ReaderState reader;
    store->load(1, source, true, reader);
    self.say();
    self.hear();
    return is_block(source, 1, store->find(1));
  });
  const FakeSource own({2, 3});
  const auto store = open_store(own, name, 20);
  child.say();
  REQUIRE(child.hear());
  ReaderState reader;
  const ConstByteSpan loaded = store->load(1, own, true, reader);
  CHECK(is_block(own, 1, loaded));
  CHECK(store->num_held_blocks() == 1);
  child.say();
  REQUIRE(child.hear());
  CHECK(store->find(1).data() == loaded.data());  // where it was first
  CHECK(store->num_held_blocks() == 1);
  CHECK(store->next_absent() == 0);
  child.say();
  CHECK(child.join());
}

TEST_CASE("shared store: a reader that is stopped waits for no other process") {
  FakeSource source({2, 3});
  const std::string name = own_name("stopped");
  Child child([&](Child& self) {
    self.hear();
    const auto store = open_store(source, name);
    source.on_block = [&](std::int64_t) {
      self.say();
      self.hear();
    };
    ReaderState reader;
    store->load(1, source, true, reader);
    return true;
  });
  const FakeSource own({2, 3});
  const auto store = open_store(own, name, 1'000'000);
  child.say();
  REQUIRE(child.hear());
  ReaderState reader;
  std::atomic<bool> stop{true};
  reader.watch(&stop);
  CHECK(store->load(1, own, true, reader).empty());
  child.say();
  CHECK(child.join());
}

TEST_CASE("shared store: threads of one process share a block's reading") {
  FakeSource source({2, 3});
  const auto store = open_store(source, own_name("threads"));
  Gate has_begun;
  Gate may_go_on;
  source.on_block = [&](std::int64_t) {
    has_begun.open();
    may_go_on.wait();
  };
  std::atomic<int> num_good{0};
  const auto work = [&] {
    ReaderState reader;
    num_good += is_block(source, 1, store->load(1, source, true, reader)) ? 1 : 0;
  };
  std::thread first(work);
  has_begun.wait();
  CHECK(store->next_absent() == 0);
  CHECK(store->next_absent() == 0);
  std::thread second(work);
  may_go_on.open();
  first.join();
  second.join();
  CHECK(num_good == 2);
  CHECK(source.block_reads(1) == 1);
}

TEST_CASE("shared store: errors leave the block absent") {
  FakeSource source({2, 3});
  const auto store = open_store(source, own_name("errors"));
  ReaderState reader;
  source.on_block = [](std::int64_t) { throw IoError(5, "a.dts", "reading"); };
  CHECK_THROWS_AS(store->load(1, source, true, reader), IoError);
  CHECK_THROWS_AS(store->load(1, source, false, reader), IoError);
  source.on_block = [](std::int64_t) { throw CorruptFile("a.dts", 0, "block 1: CRC-32"); };
  CHECK_THROWS_AS(store->load(1, source, true, reader), CorruptFile);
  CHECK(store->find(1).empty());
  CHECK(store->num_held_blocks() == 0);
  // Who does not want the check gets the block, but for himself.
  int num_calls = 0;
  source.on_block = [&](std::int64_t) {
    if (++num_calls == 1) throw CorruptFile("a.dts", 0, "block 1: CRC-32");
  };
  CHECK(is_block(source, 1, store->load(1, source, false, reader)));
  CHECK_FALSE(source.last_check);
  CHECK(store->num_held_blocks() == 1);
  CHECK(store->next_absent() == 0);
  source.on_block = nullptr;
  store->load(0, source, true, reader);
  CHECK(store->is_complete());
}

TEST_CASE("shared store: private where it can't be shared") {
  const FakeSource source({2, 3});
  ReaderState reader;
  // Memory of the right size, but not a store of this layout.
  const std::string name = own_name("strange");
  const std::size_t bytes = 4096 + 2 * FakeSource::kBlockBytes;
  const auto region = open_shared_region("torch_dts-" + std::to_string(user_id()) + "-" + name,
                                         bytes, [](ByteSpan) {});
  REQUIRE(region != nullptr);
  const auto store = open_store(source, name);
  CHECK_FALSE(store->is_shared());
  CHECK(is_block(source, 1, store->load(1, source, true, reader)));
  CHECK_FALSE(open_shared_store(own_name("empty"), 0, 4096)->is_shared());
  CHECK_FALSE(open_shared_store(own_name("huge"), 1, std::int64_t{1} << 62)->is_shared());
  testing::check_message<InvalidArgument>([] { open_shared_store("", 1, 4096); },
                                          "the fingerprint has 0 characters, expected 1 to 64");
  testing::check_message<InvalidArgument>([] { open_shared_store(std::string(65, 'a'), 1, 4096); },
                                          "the fingerprint has 65 characters, expected 1 to 64");
  CHECK_THROWS_AS(open_shared_store(own_name("wrong"), -1, 4096), InvalidArgument);
}

TEST_CASE("shared store: a forked child uses its parent's store, which outlives it") {
  const FakeSource source({2, 3});
  const std::string name = own_name("forked");
  auto store = open_store(source, name);
  ReaderState reader;
  store->load(0, source, true, reader);
  Child child([&](Child& self) {
    self.hear();
    ReaderState own;
    const bool is_good = open_store(source, name) == store && is_block(source, 0, store->find(0)) &&
                         is_block(source, 1, store->load(1, source, true, own));
    store.reset();
    return is_good;
  });
  child.say();
  CHECK(child.join());
  CHECK(is_block(source, 1, store->find(1)));
  CHECK(source.block_reads(1) == 0);
}

}  // namespace
}  // namespace dts
