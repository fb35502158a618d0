// SPDX-License-Identifier: Apache-2.0
// The loops over Huffman codes against codes that are written bit by bit.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "jpeg/encoder.h"
#include "jpeg/entropy_kernels.h"
#include "jpeg/zigzag.h"

namespace dts::testing {

// Codes of 4 to 16 bits for what a block may hold: enough of them to be longer than any index.
struct LongCodes {
  std::array<std::uint8_t, 16> counts = {0, 0, 0, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 60};
  std::vector<std::uint8_t> symbols;

  explicit LongCodes(bool is_dc) {
    if (is_dc) counts = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    std::size_t num_codes = 0;
    for (const std::uint8_t count : counts) num_codes += count;
    // The end of the block and 16 zeros among the first.
    for (unsigned i = 0; i < num_codes; ++i) {
      const unsigned run = i * 5 % 16, size = 1 + i * 7 % 15;
      symbols.push_back(static_cast<std::uint8_t>(is_dc    ? i
                                                  : i == 1 ? 0
                                                  : i == 4 ? 0xF0
                                                           : run << 4 | size));
    }
  }
  HuffmanSpec spec() const {
    return {counts.data(), symbols.data(), static_cast<int>(symbols.size())};
  }
};

class BitWriter {
 public:
  void put(unsigned value, unsigned num_bits) {
    for (unsigned i = num_bits; i-- > 0;) {
      if (count_++ % 8 == 0) bytes_.push_back(0);
      bytes_.back() |= static_cast<std::uint8_t>((value >> i & 1) << (7 - (count_ - 1) % 8));
    }
  }
  // The code at `place` in the list of symbols, and a value behind it.
  void put_code(const LongCodes& codes, std::size_t place) {
    unsigned code = 0;
    std::size_t first = 0;
    for (unsigned length = 1; length <= 16; ++length) {
      const std::size_t count = codes.counts[length - 1];
      if (place < first + count) return put(code + static_cast<unsigned>(place - first), length);
      code = (code + static_cast<unsigned>(count)) << 1;
      first += count;
    }
  }
  void put_value(int value, unsigned size) {
    put(static_cast<unsigned>(value >= 0 ? value : value + (1 << size) - 1), size);
  }
  std::size_t num_bits() const { return count_; }
  // With what may be read behind them.
  std::vector<std::uint8_t> padded() const {
    std::vector<std::uint8_t> all = bytes_;
    all.resize(all.size() + kMcuReadAhead, 0xAA);
    return all;
  }
  std::size_t num_bytes() const { return bytes_.size(); }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t count_ = 0;
};

struct WrittenBlock {
  std::array<std::int16_t, 64> values = {};
  int end = 1;
};

// A random value whose magnitude has `size` bits.
inline int random_value(std::uint64_t& state, unsigned size) {
  if (size == 0) return 0;
  const int value = static_cast<int>((1u << (size - 1)) + next_random(state, 1u << (size - 1)));
  return next_random(state, 2) == 0 ? value : -value;
}

// Writes a block; some of them end with the 64th coefficient, or with runs of 16 zeros.
inline WrittenBlock write_block(BitWriter& out, const LongCodes& dc, const LongCodes& ac,
                                int* last_dc, std::uint64_t& state) {
  WrittenBlock block;
  const unsigned dc_place = next_random(state, static_cast<unsigned>(dc.symbols.size()));
  const int difference = random_value(state, dc.symbols[dc_place]);
  out.put_code(dc, dc_place);
  out.put_value(difference, dc.symbols[dc_place]);
  *last_dc += difference;
  block.values[0] = static_cast<std::int16_t>(*last_dc);
  const unsigned rarity = 2 + next_random(state, 200);
  for (int at = 1; at < 64;) {
    const auto place = next_random(state, static_cast<unsigned>(ac.symbols.size()));
    const int run = ac.symbols[place] >> 4;
    const unsigned size = ac.symbols[place] & 15;
    const bool is_end = next_random(state, rarity) == 0 || ac.symbols[place] == 0;
    if (is_end || at + run > 63) {
      out.put_code(ac, 1);
      break;
    }
    out.put_code(ac, place);
    at += run + 1;
    const int value = random_value(state, size);
    out.put_value(value, size);
    block.values[kNaturalOrder[static_cast<std::size_t>(at - 1)]] =
        static_cast<std::int16_t>(value);
    block.end = at;
  }
  return block;
}

// `decode` and `skip` over random blocks of two components.
inline void check_loops(ReadMcus decode, ReadMcus skip) {
  std::uint64_t state = 31;
  const LongCodes dc(true), ac(false);
  DcTable dc_table;
  AcTable ac_table;
  REQUIRE(dc_table.build(dc.spec()));
  REQUIRE(ac_table.build(ac.spec()));
  ac_table.build_skips();
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    constexpr int kMcus = 12;
    BitWriter out;
    std::array<int, 2> last_dc = {};
    std::vector<WrittenBlock> expected;
    for (std::size_t i = 0; i < 3 * kMcus; ++i) {
      expected.push_back(write_block(out, dc, ac, &last_dc[i % 3 / 2], state));
    }
    const auto bytes = out.padded();
    std::vector<std::int16_t> values(expected.size() * 64, 77);
    std::vector<std::uint8_t> ends(expected.size(), 99);
    McuBlocks blocks;
    blocks.num_blocks = 3;
    for (std::size_t i = 0; i < 3; ++i) {
      blocks.blocks[i] = {&dc_table, &ac_table, i / 2, values.data() + 64 * i, ends.data() + i, 3};
    }
    McuBlocks none = blocks;
    const std::uint8_t* const limit = bytes.data() + out.num_bytes() + 8;
    const auto skipped = static_cast<std::int64_t>(next_random(state, kMcus));
    EntropyStream stream;
    stream.start(bytes.data());
    REQUIRE(skip(stream, none, skipped, limit) == skipped);
    CHECK(values == std::vector<std::int16_t>(values.size(), 77));
    CHECK(ends == std::vector<std::uint8_t>(ends.size(), 99));
    // Behind the limit no MCU begins.
    CHECK(decode(stream, blocks, 1, nullptr) == 0);
    REQUIRE(decode(stream, blocks, kMcus - skipped, limit) == kMcus - skipped);
    CHECK(stream.bits_taken(bytes.data()) == static_cast<std::int64_t>(out.num_bits()));
    CHECK(stream.dc[0] == last_dc[0]);
    CHECK(stream.dc[1] == last_dc[1]);
    const auto first = static_cast<std::size_t>(3 * skipped);
    for (std::size_t i = first; i < expected.size(); ++i) {
      const std::int16_t* const found = values.data() + 64 * (i - first);
      REQUIRE(std::equal(found, found + 64, expected[i].values.begin()));
      REQUIRE(int{ends[i - first]} == expected[i].end);
    }
  }
}

// What is no code, and more than 64 coefficients.
inline void check_bad_codes(ReadMcus decode, ReadMcus skip) {
  const LongCodes dc(true), ac(false);
  DcTable dc_table;
  AcTable ac_table;
  REQUIRE(dc_table.build(dc.spec()));
  REQUIRE(ac_table.build(ac.spec()));
  ac_table.build_skips();
  for (const int kind : {0, 1, 2, 3}) {
    CAPTURE(kind);
    BitWriter out;
    if (kind == 0) {
      out.put(0xFFFF, 16);
    } else {
      out.put_code(dc, 0);
    }
    if (kind == 1) out.put(0xFFFF, 16);
    // 16 zeros each: four lead behind the last place, three to the one before.
    for (int i = 0; i < kind + 2; ++i) out.put_code(ac, 4);
    out.put_code(ac, 1);
    const auto bytes = out.padded();
    std::vector<std::int16_t> values(64);
    std::uint8_t end = 0;
    McuBlocks blocks;
    blocks.num_blocks = 1;
    blocks.blocks[0] = {&dc_table, &ac_table, 0, values.data(), &end, 0};
    for (const ReadMcus loop : {decode, skip}) {
      McuBlocks copy = blocks;
      EntropyStream stream;
      stream.start(bytes.data());
      CHECK(loop(stream, copy, 1, bytes.data() + out.num_bytes()) == -1);
    }
  }
}

}  // namespace dts::testing
