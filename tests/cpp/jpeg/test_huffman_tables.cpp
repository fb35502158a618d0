// SPDX-License-Identifier: Apache-2.0
// Every entry of a table against codes read bit by bit.
#include "jpeg/huffman_tables.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "jpeg/encoder.h"

namespace dts::testing {
namespace {

struct Codes {
  std::array<std::uint8_t, 16> counts = {};
  std::vector<std::uint8_t> symbols;
  HuffmanSpec spec() const {
    return {counts.data(), symbols.data(), static_cast<int>(symbols.size())};
  }
};

// A code with room left, its symbols drawn from `alphabet`.
Codes random_codes(std::uint64_t& state, std::vector<std::uint8_t> alphabet) {
  Codes codes;
  std::uint64_t room = 1;
  for (std::size_t length = 1; length <= 16 && !alphabet.empty(); ++length) {
    room *= 2;
    const auto most = static_cast<unsigned>(std::min<std::uint64_t>(room - 1, alphabet.size()));
    unsigned count = next_random(state, std::min(most, 1u + static_cast<unsigned>(length)) + 1);
    if (length == 16) count = most;
    for (unsigned i = 0; i < count; ++i) {
      const auto at = next_random(state, static_cast<unsigned>(alphabet.size()));
      codes.symbols.push_back(alphabet[at]);
      alphabet.erase(alphabet.begin() + at);
    }
    codes.counts[length - 1] = static_cast<std::uint8_t>(count);
    room -= count;
  }
  return codes;
}

std::vector<std::uint8_t> symbols_up_to(int count) {
  std::vector<std::uint8_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), std::uint8_t{0});
  return all;
}

// Bits of an index, read one by one.
struct Reader {
  unsigned bits;
  int left;
  int taken = 0;

  // The symbol of the next code; -1 when it is not all in the index.
  int symbol(const Codes& codes) {
    int code = 0, first = 0;
    std::size_t at = 0;
    for (std::size_t length = 1; length <= 16; ++length) {
      if (static_cast<int>(length) > left) return -1;
      code = code * 2 + static_cast<int>(bits >> (left - static_cast<int>(length)) & 1);
      const int count = codes.counts[length - 1];
      if (code - first < count) {
        left -= static_cast<int>(length);
        taken += static_cast<int>(length);
        return codes.symbols[at + static_cast<std::size_t>(code - first)];
      }
      at += static_cast<std::size_t>(count);
      first = (first + count) * 2;
    }
    return -1;
  }

  // A value of `size` bits, those that are missing 0; their number goes to `missing`.
  int value(int size, int* missing) {
    const int known = std::min(size, left);
    *missing = size - known;
    int value = static_cast<int>(bits >> (left - known) & ((1u << known) - 1)) << *missing;
    const bool is_positive = size > 0 && (value >> (size - 1)) != 0;
    if (size > 0 && !is_positive) value -= (1 << size) - 1;
    left -= known;
    taken += size;
    return value;
  }
};

struct Coefficient {
  int place;
  int value;
};

// What the entry at `index` must be; empty when the first symbol is to be read alone.
struct Expected {
  bool is_none = true, ends = false;
  int length = 0, places = 0, missing = 0;
  std::vector<Coefficient> coefficients;
};

Expected expected_entry(const Codes& codes, unsigned index) {
  Expected result;
  Reader in{index, AcTable::kBits};
  while (result.coefficients.size() < 2 && result.missing == 0) {
    Reader ahead = in;
    const int symbol = ahead.symbol(codes);
    const int run = symbol >> 4, size = symbol & 15;
    if (symbol < 0 || (size > 0 && ahead.left == 0)) break;
    if (size == 0 && run != 15) {
      result.ends = true;
      in = ahead;
      result.is_none = false;
      break;
    }
    const int value = ahead.value(size, &result.missing);
    result.coefficients.push_back({result.places + run, value});
    result.places += run + 1;
    result.is_none = false;
    in = ahead;
  }
  // Behind two of them only the usual one.
  if (!result.ends && result.missing == 0 && !result.is_none) {
    Reader ahead = in;
    if (ahead.symbol(codes) == 0) {
      result.ends = true;
      in = ahead;
    }
  }
  result.length = in.taken;
  return result;
}

void check_entry(std::uint64_t entry, const Expected& expected) {
  const auto byte = [entry](int shift) { return static_cast<int>(entry >> shift & 255); };
  if (expected.is_none) {
    REQUIRE((byte(0) == 0 && byte(8) == static_cast<int>(kNoSymbol)));
    return;
  }
  REQUIRE(byte(0) == expected.length);
  REQUIRE(byte(8) == expected.places + (expected.ends ? static_cast<int>(kEndOfBlock) : 0));
  const int missing = byte(16) >> 4;
  REQUIRE(missing == expected.missing);
  std::vector<Coefficient> found = {{byte(16) & 15, static_cast<std::int16_t>(entry >> 24)},
                                    {byte(56), static_cast<std::int16_t>(entry >> 40)}};
  // Zeros may be written to where nothing was yet.
  const auto values = [](const std::vector<Coefficient>& list) {
    std::array<int, 64> values = {};
    for (const Coefficient& one : list) values[static_cast<std::size_t>(one.place)] = one.value;
    return values;
  };
  REQUIRE(values(found) == values(expected.coefficients));
}

Expected expected_skip(const Codes& codes, unsigned index) {
  Expected result;
  Reader in{index, AcTable::kSkipBits};
  for (;;) {
    Reader ahead = in;
    const int symbol = ahead.symbol(codes);
    if (symbol < 0) break;
    const int run = symbol >> 4, size = symbol & 15;
    result.is_none = false;
    in = ahead;
    if (size == 0 && run != 15) {
      result.ends = true;
      break;
    }
    result.places += run + 1;
    in.value(size, &result.missing);
    if (result.missing > 0) break;
  }
  result.length = in.taken;
  return result;
}

void check_table(const Codes& codes) {
  AcTable table;
  REQUIRE(table.build(codes.spec()));
  for (unsigned i = 0; i < table.entries.size(); ++i) {
    CAPTURE(i);
    check_entry(table.entries[i], expected_entry(codes, i));
  }
  CHECK_FALSE(table.has_skips);
  table.build_skips();
  for (unsigned i = 0; i < table.skips.size(); ++i) {
    CAPTURE(i);
    const Expected expected = expected_skip(codes, i);
    const int length = table.skips[i] & 255, places = table.skips[i] >> 8;
    if (expected.is_none) {
      REQUIRE((length == 0 && places == static_cast<int>(kNoSymbol)));
    } else if (expected.places < 50) {
      REQUIRE(length == expected.length);
      REQUIRE(places == expected.places + (expected.ends ? static_cast<int>(kEndOfBlock) : 0));
    } else {  // fewer symbols than there are
      REQUIRE(length <= expected.length);
      REQUIRE(places % 128 <= 63);
    }
  }
}

}  // namespace

TEST_CASE("huffman: AC entries of random codes") {
  std::uint64_t state = 2;
  for (int round = 0; round < 12; ++round) {
    CAPTURE(round);
    check_table(random_codes(state, symbols_up_to(round % 2 == 0 ? 256 : 20)));
  }
  // Symbols of real files are small.
  std::vector<std::uint8_t> usual = {0x00, 0xF0, 0x01, 0x02, 0x03, 0x11, 0x12, 0x21, 0x31, 0x04};
  for (int round = 0; round < 8; ++round) check_table(random_codes(state, usual));
  check_table({});
}

TEST_CASE("huffman: DC entries of random codes") {
  std::uint64_t state = 3;
  for (int round = 0; round < 20; ++round) {
    const Codes codes = random_codes(state, symbols_up_to(16));
    DcTable table;
    REQUIRE(table.build(codes.spec()));
    for (unsigned i = 0; i < table.entries.size(); ++i) {
      Reader in{i, DcTable::kBits};
      const int size = in.symbol(codes);
      if (size < 0 || (size > 0 && in.left == 0)) {
        REQUIRE(table.entries[i] == 0);
        continue;
      }
      int missing = 0;
      const int value = in.value(size, &missing);
      const unsigned length = table.entries[i] & 255, not_known = table.entries[i] >> 8 & 255;
      REQUIRE(length == static_cast<unsigned>(in.taken));
      REQUIRE(not_known == static_cast<unsigned>(missing));
      const auto difference = static_cast<std::int16_t>(table.entries[i] >> 16);
      REQUIRE(difference == value);
    }
  }
}

TEST_CASE("huffman: bad tables") {
  const auto builds = [](const Codes& codes) {
    AcTable table;
    return table.build(codes.spec());
  };
  CHECK(builds({{1, 1}, {1, 2}}));
  CHECK_FALSE(builds({{2}, {1, 2}}));  // all bits set
  CHECK_FALSE(builds({{1, 2}, {1, 2, 3}}));
  CHECK_FALSE(builds({{0, 0, 9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}}));
  DcTable dc;
  CHECK(dc.build(Codes{{1}, {15}}.spec()));
  CHECK_FALSE(dc.build(Codes{{1}, {16}}.spec()));
  HuffmanTableCache cache;
  CHECK(cache.dc(Codes{{1}, {16}}.spec()) == nullptr);
  CHECK(cache.ac(Codes{{2}, {1, 2}}.spec()) == nullptr);
}

TEST_CASE("huffman: tables are found again by what they were made of") {
  HuffmanTableCache cache;
  CHECK(cache.held_bytes() == 0);
  std::uint64_t state = 4;
  std::vector<Codes> codes;
  for (std::size_t i = 0; i < 2 * HuffmanTableCache::kKeptTables; ++i) {
    codes.push_back(random_codes(state, symbols_up_to(200)));
  }
  const Codes& first = codes[0];
  AcTable* const table = cache.ac(first.spec());
  const Codes copy = first;
  CHECK(cache.ac(copy.spec()) == table);
  // Used again and again, it stays; others take each other's place.
  for (const Codes& other : codes) {
    const AcTable* const found = cache.ac(other.spec());
    REQUIRE(found != nullptr);
    CHECK(found->code.is_made_of(other.spec()));
    CHECK(cache.ac(first.spec()) == table);
    CHECK(table->code.is_made_of(first.spec()));
  }
  CHECK(cache.held_bytes() == HuffmanTableCache::kKeptTables * sizeof(AcTable));
  Codes changed = first;
  changed.symbols.back() ^= 1;
  CHECK(cache.ac(changed.spec()) != table);
  cache.release();
  CHECK(cache.held_bytes() == 0);
  CHECK(cache.ac(first.spec()) != nullptr);
}

}  // namespace dts::testing
