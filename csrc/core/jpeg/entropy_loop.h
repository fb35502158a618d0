// SPDX-License-Identifier: Apache-2.0
// The loop over Huffman codes that the kernels are made of. Most of the time goes from a
// look-up to the next: the entry says how many bits to take, and all else happens beside that.
//
// Each kernel includes this once, after it has defined DTS_ENTROPY_NAMESPACE, the attribute
// DTS_ENTROPY_TARGET (the instructions it may use) and, in that namespace, field() and low_bits().
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "jpeg/entropy_kernels.h"
#include "jpeg/zigzag.h"

#define DTS_INLINE [[gnu::always_inline]] DTS_ENTROPY_TARGET inline

namespace dts::DTS_ENTROPY_NAMESPACE {

// Copies of a stream's members, for registers.
struct Bits {
  const std::uint8_t* next;
  std::uint64_t bits;
  std::uint64_t count;

  // 56 bits at least.
  DTS_INLINE void refill() {
    std::uint64_t word;
    std::memcpy(&word, next, sizeof word);
    bits |= __builtin_bswap64(word) >> (count & 63);
    next += (~count >> 3) & 7;
    count |= 56;
  }
  // The lowest 6 bits of `length` count.
  DTS_INLINE void take(std::uint64_t length) {
    bits <<= length & 63;
    count -= length;
  }
  DTS_INLINE std::size_t peek(int num_bits) const { return bits >> (64 - num_bits); }
};

// The last `missing` of the first `length` bits.
DTS_INLINE std::uint64_t last_bits(std::uint64_t bits, std::uint64_t length, unsigned missing) {
  return low_bits(bits >> (-length & 63), missing);
}

struct Symbol {
  unsigned symbol;
  unsigned length;  // above kMaxCodeLength: none
};

// The code that `bits` begin with; it has `length` bits at least.
[[gnu::noinline, gnu::cold]] inline Symbol find_symbol(const CanonicalCode& code,
                                                       std::uint64_t bits, std::size_t length) {
  const auto prefix = static_cast<std::uint32_t>(bits >> 48);
  while (prefix >= code.limits[length]) ++length;
  if (length > kMaxCodeLength) return {0, kMaxCodeLength + 1};
  const auto value = static_cast<std::int32_t>(prefix >> (kMaxCodeLength - length));
  const auto place = static_cast<std::size_t>(code.offsets[length] + value);
  return {code.symbols[place], static_cast<unsigned>(length)};
}

// The value of the first `size` bits.
DTS_INLINE int extend(std::uint64_t bits, unsigned size) {
  if (size == 0) return 0;
  const auto value = static_cast<int>(bits >> (64 - size));
  return (bits >> 63) != 0 ? value : value - (1 << size) + 1;
}

// False for a bad code. 40 bits must be there; 24 are after it.
DTS_INLINE bool read_dc(Bits& in, const DcTable& table, std::int32_t* dc) {
  const std::uint32_t entry = table.entries[in.peek(DcTable::kBits)];
  std::int32_t difference;
  if (__builtin_expect((entry & 63) != 0, 1)) {
    difference = (static_cast<std::int32_t>(entry) >> 16) +
                 static_cast<std::int32_t>(last_bits(in.bits, entry, entry >> 8 & 15));
    in.take(entry);
  } else {
    const Symbol found = find_symbol(table.code, in.bits, DcTable::kBits);
    if (found.length > kMaxCodeLength) return false;
    in.take(found.length);
    difference = extend(in.bits, found.symbol);
    in.take(found.symbol);
    in.refill();
  }
  *dc = static_cast<std::int32_t>(static_cast<std::uint32_t>(*dc) +
                                  static_cast<std::uint32_t>(difference));
  return true;
}

enum class Step { kBad, kEnd, kOn };

// One symbol of any length, `coefficients` null: without its value.
DTS_INLINE Step read_symbol(Bits& in, const CanonicalCode& code, std::size_t least_length,
                            unsigned* place, std::int16_t* coefficients) {
  in.refill();
  const Symbol found = find_symbol(code, in.bits, least_length);
  if (found.length > kMaxCodeLength) return Step::kBad;
  in.take(found.length);
  const unsigned run = found.symbol >> 4, size = found.symbol & 15;
  if (size == 0 && run != 15) return Step::kEnd;
  *place += run + 1;
  if (*place > 64) return Step::kBad;
  if (size > 0 && coefficients != nullptr) {
    coefficients[kNaturalOrder[*place - 1]] = static_cast<std::int16_t>(extend(in.bits, size));
  }
  in.take(size);
  return *place == 64 ? Step::kEnd : Step::kOn;
}

// What entries lead to from place 64 on: the end of the block, or a symbol to be read alone.
struct Tail {
  std::uint64_t entry;
  std::uint64_t bits;  // before the entry's were taken
};

// True when the block ends well at `place`, which loses its mark.
DTS_INLINE bool is_end(unsigned* place) {
  if (__builtin_expect(*place - (kEndOfBlock + 1) < 63, 1)) {
    *place -= kEndOfBlock;
    return true;
  }
  return *place == 64;
}

// The entry took symbols that may belong to the next block, or none. Back, and one symbol alone.
DTS_INLINE Step step_alone(Bits& in, const Tail& tail, const CanonicalCode& code, unsigned* place,
                           std::int16_t* coefficients) {
  in.bits = tail.bits;
  in.count += tail.entry & 63;
  *place -= tail.entry >> 8 & 255;
  // Nothing was meant for the last place yet.
  if (coefficients != nullptr) coefficients[63] = 0;
  // No entry: all codes that leave a bit of the index are in the table.
  const std::size_t least_length = (tail.entry & 63) == 0 ? AcTable::kBits : 1;
  return read_symbol(in, code, least_length, place, coefficients);
}

// Up to two coefficients and the end.
DTS_INLINE Tail read_pair(Bits& in, const AcTable& table, unsigned* place,
                          std::int16_t* coefficients) {
  const std::uint64_t before = in.bits;
  const std::uint64_t entry = table.entries[in.peek(AcTable::kBits)];
  in.take(entry);
  const std::uint8_t* const order = kNaturalOrder.data() + *place;
  coefficients[order[field<16, 4>(entry)]] = static_cast<std::int16_t>(entry >> 24);
  coefficients[order[entry >> 56]] =
      static_cast<std::int16_t>((entry >> 40) + last_bits(before, entry, field<20, 4>(entry)));
  *place += static_cast<std::uint8_t>(entry >> 8);
  return {entry, before};
}

DTS_INLINE Tail skip_symbols(Bits& in, const AcTable& table, unsigned* place) {
  const std::uint64_t before = in.bits;
  const std::uint64_t entry = table.skips[in.peek(AcTable::kSkipBits)];
  in.take(entry);
  *place += static_cast<unsigned>(entry >> 8);
  return {entry, before};
}

// False where the tail must be looked at.
template <bool kDecode>
DTS_INLINE bool read_entry(Bits& in, const AcTable& table, unsigned* place,
                           std::int16_t* coefficients, Tail* tail) {
  if constexpr (kDecode) {
    *tail = read_pair(in, table, place, coefficients);
  } else {
    *tail = skip_symbols(in, table, place);
  }
  return *place < 64;
}

// Reads the AC codes of a block from `place` on; false for a bad one. 26 bits must be there.
template <bool kDecode>
DTS_INLINE bool read_ac(Bits& in, const AcTable& table, unsigned place, std::int16_t* coefficients,
                        unsigned* end) {
  Tail tail;
  if (__builtin_expect(read_entry<kDecode>(in, table, &place, coefficients, &tail), 1)) goto more;
  for (;;) {
    if (is_end(&place)) break;
    {
      const Step step = step_alone(in, tail, table.code, &place, kDecode ? coefficients : nullptr);
      if (step == Step::kBad) return false;
      if (step == Step::kEnd) break;
    }
  more:
    do {
      in.refill();
    } while (__builtin_expect(read_entry<kDecode>(in, table, &place, coefficients, &tail), 1) &&
             __builtin_expect(read_entry<kDecode>(in, table, &place, coefficients, &tail), 1));
  }
  *end = place;
  return true;
}

// The same with as many coefficients as are wanted, the others are left out on the way.
DTS_INLINE bool read_some_ac(Bits& in, const AcTable& table, unsigned kept,
                             std::int16_t* coefficients, unsigned* end) {
  unsigned place = 1;
  Tail tail;
  while (place < kept) {
    if (!read_entry<true>(in, table, &place, coefficients, &tail)) {
      Step step = Step::kEnd;
      if (!is_end(&place)) step = step_alone(in, tail, table.code, &place, coefficients);
      if (step == Step::kBad) return false;
      if (step == Step::kEnd) {
        *end = place;
        return true;
      }
    }
    in.refill();
  }
  return read_ac<false>(in, table, place, nullptr, end);
}

// std::memset becomes an instruction that is slow to start.
DTS_INLINE void clear_block(std::int16_t* coefficients) {
  using Words [[gnu::vector_size(32)]] = std::int64_t;
  const Words zeros = {};
  for (int i = 0; i < kBlockCoefficients; i += 16) {
    std::memcpy(coefficients + i, &zeros, sizeof zeros);
  }
}

// Which coefficients of a block are written.
enum class Keep { kNone, kSome, kAll };

template <Keep keep>
DTS_INLINE std::int64_t read_mcus(EntropyStream& stream, McuBlocks& blocks, std::int64_t num_mcus,
                                  const std::uint8_t* limit) {
  Bits in = {stream.next, stream.bits, stream.count};
  std::int64_t done = 0;
  for (; done < num_mcus && in.next <= limit; ++done) {
    McuBlocks::Block* const last = blocks.blocks.data() + blocks.num_blocks;
    for (McuBlocks::Block* block = blocks.blocks.data(); block != last; ++block) {
      in.refill();
      std::int32_t* const dc = &stream.dc[block->component];
      if (!read_dc(in, *block->dc, dc)) return -1;
      unsigned end = 0;
      std::int16_t* const coefficients = block->coefficients;
      if constexpr (keep != Keep::kNone) {
        clear_block(coefficients);
        coefficients[0] = static_cast<std::int16_t>(*dc);
      }
      if constexpr (keep == Keep::kSome) {
        if (!read_some_ac(in, *block->ac, block->kept, coefficients, &end)) return -1;
      } else {
        if (!read_ac<keep == Keep::kAll>(in, *block->ac, 1, coefficients, &end)) return -1;
      }
      if constexpr (keep != Keep::kNone) {
        *block->end = static_cast<std::uint8_t>(end);
        block->coefficients = coefficients + block->step * kBlockCoefficients;
        block->end += block->step;
      }
    }
  }
  stream.next = in.next;
  stream.bits = in.bits;
  stream.count = in.count;
  return done;
}

}  // namespace dts::DTS_ENTROPY_NAMESPACE
