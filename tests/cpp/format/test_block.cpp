// SPDX-License-Identifier: Apache-2.0
#include "format/block.h"

#include <doctest/doctest.h>

#include "format/small_file.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_corrupt;
using testing::small_old_file;

// Block 1 of the small file: samples of 300 and 65 bytes at 4096 and 4416.
constexpr std::uint64_t kStart = (16 << 20) + (16 << 20);

struct Fixture {
  testing::SmallFile file = small_old_file();
  Bytes block = file.block_bytes(1);
  void set(std::size_t offset, std::uint32_t value) { store_le(block.data() + offset, value); }
  BlockIndex parse() const { return parse_block_index(block, file.header, 1, "a.dts"); }
  void check(std::uint64_t offset, const std::string& message) const {
    check_corrupt([&] { parse(); }, static_cast<std::int64_t>(kStart + offset), message);
  }
};

TEST_CASE_FIXTURE(Fixture, "parse_block_index: every slot") {
  const BlockIndex index = parse();
  CHECK(index.block_id == 1);
  REQUIRE(index.num_samples == 2);
  CHECK(index.slot(0).offset == 4096);
  CHECK(index.slot(0).size == 300);
  CHECK(index.slot(0).label == 0);
  CHECK(index.slot(1).offset == 4416);
  CHECK(index.slot(1).size == 65);
  CHECK(index.slot(1).label == 1);
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: an empty block") {
  set(8, 0);
  CHECK(parse().num_samples == 0);
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: gaps between samples are allowed") {
  set(16, 4416 + 640);
  CHECK(parse().slot(1).offset == 5056);
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: a magic that lies") {
  block[2] = std::byte{'1'};
  check(0, "block 1: magic is 'LV1B', expected 'LV0B'");
  std::fill_n(block.begin(), 4, std::byte{0});
  check(0, "block 1: magic is '\\x00\\x00\\x00\\x00', expected 'LV0B'");
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: an id that lies") {
  set(4, 0);
  check(4, "block 1: it says that it is block 0");
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: n beyond the index room") {
  set(8, 341);
  check(8, "block 1: 341 samples, expected at most 340 (the index has no more room)");
  set(8, 0xFFFFFFFF);  // times 12 it would wrap
  check(8, "block 1: 4294967295 samples, expected at most 340 (the index has no more room)");
  set(8, 6);
  check(8, "block 1: 6 samples, but the whole file has 5");
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: offsets") {
  SUBCASE("the first") {
    set(12, 4160);
    check(12, "block 1: sample 0 starts at 4160, expected 4096 = block_header_size");
  }
  SUBCASE("overlap") {
    set(16, 4352);
    check(16,
          "block 1: sample 1 starts at 4352, expected a multiple of 64 not below 4396, the end "
          "of the sample before");
  }
  SUBCASE("alignment") {
    set(16, 4400);
    check(16,
          "block 1: sample 1 starts at 4400, expected a multiple of 64 not below 4396, the end "
          "of the sample before");
  }
  SUBCASE("behind the block") {
    set(16, 0xFFFFFFC0);
    check(24,
          "block 1: sample 1 at 4294967232 has 65 bytes and ends at 4294967297, behind the "
          "block's end 16777216");
  }
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: sizes") {
  SUBCASE("offset + size wraps 32 bits") {
    set(24, 0xFFFFFFFF - 4415);
    check(24,
          "block 1: sample 1 at 4416 has 4294962880 bytes and ends at 4294967296, behind the "
          "block's end 16777216");
  }
  SUBCASE("one byte too many") {
    set(24, (16 << 20) - 4415);
    check(24,
          "block 1: sample 1 at 4416 has 16772801 bytes and ends at 16777217, behind the "
          "block's end 16777216");
  }
  SUBCASE("to the last byte") {
    set(24, (16 << 20) - 4416);
    CHECK(parse().slot(1).size == (16 << 20) - 4416);
  }
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: labels") {
  set(32, 3);
  check(32, "block 1: sample 1 has label 3, expected 0 .. 2");
  set(32, 0xFFFFFFFF);
  check(32, "block 1: sample 1 has label -1, expected 0 .. 2");
}

TEST_CASE_FIXTURE(Fixture, "parse_block_index: never reads behind what it is given") {
  const std::size_t index_bytes = 12 + 2 * 12;
  block.resize(index_bytes);
  block.shrink_to_fit();
  CHECK(parse().num_samples == 2);
  block.resize(index_bytes - 1);
  testing::check_message<InvalidArgument>([&] { parse(); },
                                          "the index of block 1 takes 36 bytes, given were 35");
  block.resize(11);
  testing::check_message<InvalidArgument>([&] { parse(); },
                                          "a block's head has at least 12 bytes, not 11");
}

TEST_CASE_FIXTURE(Fixture, "parse_block_count: the number alone") {
  CHECK(parse_block_count(ConstByteSpan(block).first(12), file.header, 1, "a.dts") == 2);
}

TEST_CASE("describe_block: stored samples from and to") {
  CHECK(describe_block(3, 412, 561) == "block 3 (stored samples 412..560)");
  CHECK(describe_block(0, 0, 1) == "block 0 (stored samples 0..0)");
  CHECK(describe_block(7, 9, 9) == "block 7 (no samples)");
}

}  // namespace
}  // namespace dts
