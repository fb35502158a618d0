// SPDX-License-Identifier: Apache-2.0
// Segments of more and of less than is read at once, and those that end too soon.
#include "jpeg/coded_segment.h"

#include "jpeg/entropy_checks.h"

namespace dts::testing {
namespace {

struct Written {
  std::vector<std::byte> coded;  // with stuffed zeros, in memory of exactly its size
  std::vector<WrittenBlock> blocks;
};

Written write(int num_mcus, std::uint64_t seed) {
  const LongCodes dc(true), ac(false);
  BitWriter out;
  Written written;
  int last_dc = 0;
  for (int i = 0; i < num_mcus; ++i) {
    written.blocks.push_back(write_block(out, dc, ac, &last_dc, seed));
  }
  while (out.num_bits() % 8 != 0) out.put(1, 1);
  const auto bytes = out.padded();
  for (std::size_t i = 0; i < out.num_bytes(); ++i) {
    written.coded.push_back(std::byte{bytes[i]});
    if (bytes[i] == 0xFF) written.coded.push_back(std::byte{0});
  }
  written.coded.shrink_to_fit();
  return written;
}

struct Fixture {
  Fixture() {
    const LongCodes dc_codes(true), ac_codes(false);
    REQUIRE(dc.build(dc_codes.spec()));
    REQUIRE(ac.build(ac_codes.spec()));
    ac.build_skips();
  }
  // Of one block.
  McuBlocks blocks() {
    McuBlocks made;
    made.num_blocks = 1;
    made.blocks[0] = {&dc, &ac, 0, values.data(), &end, 0};
    return made;
  }
  DcTable dc;
  AcTable ac;
  std::array<std::int16_t, 64> values = {};
  std::uint8_t end = 0;
};

}  // namespace

TEST_CASE("segment: any number of MCUs, one at a time or skipped") {
  Fixture fixture;
  for (const SimdLevel level : {SimdLevel::kGeneric, best_simd_level()}) {
    CodedSegment segment(level);
    for (const int num_mcus : {1, 2, 30, 400}) {
      CAPTURE(num_mcus);
      const Written written = write(num_mcus, static_cast<std::uint64_t>(num_mcus));
      for (const int step : {1, 7}) {
        segment.open(written.coded);
        for (int at = 0; at < num_mcus; ++at) {
          McuBlocks blocks = fixture.blocks();
          if (at % step != 0) {
            REQUIRE(segment.skip(blocks, 1));
            continue;
          }
          REQUIRE(segment.decode(blocks, 1));
          REQUIRE((fixture.values == written.blocks[static_cast<std::size_t>(at)].values));
          CHECK(segment.is_used_up() == (at + 1 == num_mcus));
        }
        McuBlocks blocks = fixture.blocks();
        CHECK_FALSE(segment.decode(blocks, 1));
      }
    }
    CHECK(segment.held_bytes() > 0);
    segment.release();
    CHECK(segment.held_bytes() == 0);
  }
}

TEST_CASE("segment: data that ends too soon, markers inside, bytes too many") {
  Fixture fixture;
  CodedSegment segment;
  const Written written = write(60, 3);
  const std::size_t size = written.coded.size();
  const auto reads = [&](std::vector<std::byte> coded) {
    coded.shrink_to_fit();
    McuBlocks blocks = fixture.blocks();
    segment.open(coded);
    return segment.decode(blocks, 60);
  };
  CHECK(reads(written.coded));
  CHECK(segment.is_used_up());
  for (std::size_t left : {std::size_t{0}, std::size_t{1}, size / 2, size - 3}) {
    CHECK_FALSE(
        reads({written.coded.begin(), written.coded.begin() + static_cast<std::ptrdiff_t>(left)}));
  }
  auto longer = written.coded;
  longer.push_back(std::byte{0x55});
  CHECK(reads(longer));
  CHECK_FALSE(segment.is_used_up());
  longer.back() = std::byte{0xFF};  // fills
  CHECK(reads(longer));
  CHECK(segment.is_used_up());
  auto marked = written.coded;
  marked[size / 2] = std::byte{0xFF};
  marked[size / 2 + 1] = std::byte{0xD0};
  CHECK_FALSE(reads(marked));
}

}  // namespace dts::testing
