// SPDX-License-Identifier: Apache-2.0
// Look-up tables for the Huffman codes of a JPEG. An entry covers a code, the bits of the value
// behind it, as far as the index shows them, and the symbols behind these, so that most
// coefficients take half a look-up or less.
//
// Building takes microseconds; tables are kept and found again by what they were made of. One
// cache per thread; a table stays valid while less than kKeptTables others are asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dts {

inline constexpr int kMaxHuffmanSymbols = 256;
inline constexpr int kMaxCodeLength = 16;

// What DHT says: how many codes of 1 to 16 bits there are, and their symbols in turn.
struct HuffmanSpec {
  const std::uint8_t* counts = nullptr;
  const std::uint8_t* symbols = nullptr;
  int num_symbols = 0;
};

// Codes of all lengths, one symbol at a time.
struct CanonicalCode {
  // Of each length: the end of its codes and the shorter ones, as 16 bits from the left. Behind
  // them an end for all that is no code.
  std::array<std::uint32_t, kMaxCodeLength + 2> limits = {};
  // What leads from a code to its symbol's place.
  std::array<std::int32_t, kMaxCodeLength + 2> offsets = {};
  std::array<std::uint8_t, kMaxHuffmanSymbols> symbols = {};
  int num_symbols = 0;
  std::array<std::uint8_t, kMaxCodeLength> counts = {};

  // False for what libjpeg calls a bad table.
  bool build(const HuffmanSpec& spec);
  bool is_made_of(const HuffmanSpec& spec) const;
};

// All entries: bits to take in the lowest byte, which are 0 where the code is longer than the
// index.
struct DcTable {
  static constexpr int kBits = 9;
  // 8..15: bits of the value that the index doesn't show; 16..31: the difference without them.
  std::array<std::uint32_t, 1 << kBits> entries;
  CanonicalCode code;

  bool build(const HuffmanSpec& spec);
};

// The second byte of AC entries: places to go on, plus one of these.
inline constexpr unsigned kEndOfBlock = 128;
inline constexpr unsigned kNoSymbol = 255;

struct AcTable {
  static constexpr int kBits = 10;
  static constexpr int kSkipBits = 11;
  // Up to two coefficients. 16..19: where the first stands, counted from here; 20..23: bits of
  // the second that the index doesn't show; 24..39: the first; 40..55: the second without those
  // bits; 56..63: where it stands. One coefficient alone is the second.
  alignas(64) std::array<std::uint64_t, 1 << kBits> entries;
  // As many symbols as the index shows. Built when asked for.
  alignas(64) std::array<std::uint16_t, 1 << kSkipBits> skips;
  bool has_skips = false;
  CanonicalCode code;

  bool build(const HuffmanSpec& spec);
  void build_skips();
};

class HuffmanTableCache {
 public:
  static constexpr std::size_t kKeptTables = 8;  // of each kind; a frame has up to 3

  // Null for a bad table.
  const DcTable* dc(const HuffmanSpec& spec);
  AcTable* ac(const HuffmanSpec& spec);

  std::size_t held_bytes() const;
  void release();

 private:
  template <class Table>
  struct Shelf {
    struct Kept {
      std::unique_ptr<Table> table;
      std::uint64_t last_use = 0;  // 0: nothing in it
    };
    std::vector<Kept> kept;
    std::uint64_t clock = 0;

    Table* find(const HuffmanSpec& spec);
  };

  Shelf<DcTable> dc_;
  Shelf<AcTable> ac_;
};

}  // namespace dts
