// SPDX-License-Identifier: Apache-2.0
#include "jpeg/huffman_tables.h"

#include <algorithm>
#include <cstring>

namespace dts {
namespace {

constexpr unsigned kZeroRun = 0xF0;  // the symbol for 16 zeros
constexpr std::uint64_t kNoEntry = std::uint64_t{kNoSymbol} << 8;
constexpr std::uint16_t kNoSkip = kNoSymbol << 8;
constexpr unsigned kLastPlace = 63;

// Calls visit(symbol, code, length) for the codes of up to `bits` bits.
template <class Visit>
void for_each_code(const CanonicalCode& canonical, unsigned bits, Visit visit) {
  unsigned code = 0;
  std::size_t at = 0;
  for (unsigned length = 1; length <= bits; ++length, code <<= 1) {
    for (unsigned i = canonical.counts[length - 1]; i > 0; --i) {
      visit(unsigned{canonical.symbols[at++]}, code++, length);
    }
  }
}

// The value of `size` bits of which `extra` are the first `known`, one at least; the others are 0.
int value_without_rest(unsigned extra, unsigned known, unsigned size) {
  const int value = static_cast<int>(extra << (size - known));
  return (extra >> (known - 1)) != 0 ? value : value - (1 << size) + 1;
}

// Entries for an index of any number of bits: those of n bits stand from 2^n on.
template <class Entry, unsigned kMaxBits>
struct Pyramid {
  std::array<Entry, std::size_t{1} << kMaxBits> entries;
  Entry* of(unsigned bits) { return entries.data() + (std::size_t{1} << bits); }
};

// An AC entry of one coefficient.
std::uint64_t entry_of(unsigned length, unsigned run, unsigned missing, int value) {
  return length | std::uint64_t{run + 1} << 8 | std::uint64_t{missing} << 20 |
         std::uint64_t{static_cast<std::uint16_t>(value)} << 40 | std::uint64_t{run} << 56;
}

// What to add to the entry that follows such a coefficient to get the entry of both.
std::uint64_t before_entry(unsigned length, unsigned run, int value) {
  return length | std::uint64_t{run + 1} << 8 | std::uint64_t{run} << 16 |
         std::uint64_t{static_cast<std::uint16_t>(value)} << 24 | std::uint64_t{run + 1} << 56;
}

// Fills in the entries of an index of `bits` bits. `join(entries, rest, entry, before)` writes
// those of a coefficient behind which `rest` bits of the index are left.
template <class Join>
void fill_entries(const CanonicalCode& code, unsigned bits, std::uint64_t* entries, Join join) {
  std::fill(entries, entries + (std::size_t{1} << bits), kNoEntry);
  for_each_code(code, bits, [&](unsigned symbol, unsigned prefix, unsigned length) {
    const unsigned run = symbol >> 4, size = symbol & 15, rest = bits - length;
    std::uint64_t* const first = entries + (std::size_t{prefix} << rest);
    if (symbol == kZeroRun) {
      join(first, rest, entry_of(length, run, 0, 0), before_entry(length, run, 0));
    } else if (size == 0) {
      std::fill(first, first + (std::size_t{1} << rest), length | std::uint64_t{kEndOfBlock} << 8);
    } else if (rest > 0) {
      const unsigned known = std::min(size, rest);
      for (unsigned extra = 0; extra < 1u << known; ++extra) {
        const int value = value_without_rest(extra, known, size);
        join(first + (std::size_t{extra} << (rest - known)), rest - known,
             entry_of(length + size, run, size - known, value),
             before_entry(length + size, run, value));
      }
    }
  });
}

struct EndCode {
  unsigned code = 0, length = kMaxCodeLength + 1;
};

EndCode find_end_code(const CanonicalCode& canonical) {
  EndCode end;
  for_each_code(canonical, kMaxCodeLength, [&end](unsigned symbol, unsigned code, unsigned length) {
    if (symbol == 0) end = {code, length};
  });
  return end;
}

// Behind a whole coefficient at the start of an index of `bits` bits.
unsigned most_bits_left(const CanonicalCode& canonical, unsigned bits) {
  unsigned most = 0;
  for_each_code(canonical, bits, [&](unsigned symbol, unsigned, unsigned length) {
    const unsigned size = symbol & 15, total = length + size;
    if ((size > 0 || symbol == kZeroRun) && total <= bits) most = std::max(most, bits - total);
  });
  return most;
}

template <class Table>
std::size_t shelf_bytes(std::size_t count) {
  return count * sizeof(Table);
}

}  // namespace

bool CanonicalCode::build(const HuffmanSpec& spec) {
  std::uint32_t next = 0;
  std::int32_t at = 0;
  for (int length = 1; length <= kMaxCodeLength; ++length) {
    const auto i = static_cast<std::size_t>(length);
    const int count = spec.counts[i - 1];
    offsets[i] = at - static_cast<std::int32_t>(next);
    next += static_cast<std::uint32_t>(count);
    at += count;
    // All bits set is no code.
    if (count > 0 && next >= 1u << length) return false;
    limits[i] = next << (kMaxCodeLength - length);
    next <<= 1;
  }
  limits[kMaxCodeLength + 1] = ~0u;
  num_symbols = spec.num_symbols;
  std::copy_n(spec.counts, kMaxCodeLength, counts.begin());
  std::copy_n(spec.symbols, spec.num_symbols, symbols.begin());
  return true;
}

bool CanonicalCode::is_made_of(const HuffmanSpec& spec) const {
  return num_symbols == spec.num_symbols &&
         std::memcmp(counts.data(), spec.counts, counts.size()) == 0 &&
         std::memcmp(symbols.data(), spec.symbols, static_cast<std::size_t>(num_symbols)) == 0;
}

bool DcTable::build(const HuffmanSpec& spec) {
  if (!code.build(spec)) return false;
  const auto* const end = spec.symbols + spec.num_symbols;
  if (std::any_of(spec.symbols, end, [](std::uint8_t symbol) { return symbol > 15; })) return false;
  entries.fill(0);
  for_each_code(code, kBits, [this](unsigned size, unsigned prefix, unsigned length) {
    const unsigned rest = kBits - length, known = std::min(size, rest);
    if (size > 0 && known == 0) return;
    for (unsigned extra = 0; extra < 1u << known; ++extra) {
      const int value = size == 0 ? 0 : value_without_rest(extra, known, size);
      std::uint32_t* const first =
          entries.data() + (((std::size_t{prefix} << known) | extra) << (rest - known));
      std::fill(first, first + (std::size_t{1} << (rest - known)),
                (length + size) | (size - known) << 8 | static_cast<std::uint32_t>(value) << 16);
    }
  });
  return true;
}

bool AcTable::build(const HuffmanSpec& spec) {
  has_skips = false;
  if (!code.build(spec)) return false;
  // What may stand behind a first coefficient: another and the end, for each number of bits left.
  const EndCode end = find_end_code(code);
  Pyramid<std::uint64_t, kBits> follow;
  for (unsigned bits = 0; bits <= most_bits_left(code, kBits); ++bits) {
    fill_entries(code, bits, follow.of(bits),
                 [&end](std::uint64_t* at, unsigned rest, std::uint64_t entry, std::uint64_t) {
                   std::fill(at, at + (std::size_t{1} << rest), entry);
                   if (end.length > rest) return;
                   const unsigned free = rest - end.length;
                   at += std::size_t{end.code} << free;
                   std::fill(at, at + (std::size_t{1} << free),
                             entry + end.length + (std::uint64_t{kEndOfBlock} << 8));
                 });
  }
  fill_entries(
      code, kBits, entries.data(),
      [&follow](std::uint64_t* at, unsigned rest, std::uint64_t entry, std::uint64_t before) {
        const std::uint64_t* const next = follow.of(rest);
        for (std::size_t i = 0; i < std::size_t{1} << rest; ++i) {
          at[i] = next[i] == kNoEntry ? entry : next[i] + before;
        }
      });
  return true;
}

void AcTable::build_skips() {
  if (has_skips) return;
  Pyramid<std::uint16_t, kSkipBits + 1> pyramid;
  for (unsigned bits = 0; bits <= kSkipBits; ++bits) {
    std::uint16_t* const all = pyramid.of(bits);
    std::fill(all, all + (std::size_t{1} << bits), kNoSkip);
    for_each_code(code, bits, [&](unsigned symbol, unsigned prefix, unsigned length) {
      const unsigned run = symbol >> 4, size = symbol & 15;
      const std::size_t num_entries = std::size_t{1} << (bits - length);
      std::uint16_t* const first = all + prefix * num_entries;
      const unsigned total = length + size;
      const unsigned places = size == 0 && symbol != kZeroRun ? kEndOfBlock : run + 1;
      const auto alone = static_cast<std::uint16_t>(total | places << 8);
      if (places == kEndOfBlock || total >= bits) {
        std::fill(first, first + num_entries, alone);
        return;
      }
      const std::uint16_t* const next = pyramid.of(bits - total);
      const std::size_t num_next = std::size_t{1} << (bits - total);
      for (std::size_t i = 0; i < num_next; ++i) {
        const unsigned more = next[i] >> 8;
        // More places than a block has would run into the mark of its end.
        const bool is_alone = more == kNoSymbol || (more & 127) + places > kLastPlace;
        first[i] = is_alone ? alone : static_cast<std::uint16_t>(next[i] + alone);
      }
      for (std::size_t done = num_next; done < num_entries; done += num_next) {
        std::copy_n(first, num_next, first + done);
      }
    });
  }
  std::copy_n(pyramid.of(kSkipBits), skips.size(), skips.begin());
  has_skips = true;
}

template <class Table>
Table* HuffmanTableCache::Shelf<Table>::find(const HuffmanSpec& spec) {
  for (Kept& entry : kept) {
    if (entry.last_use != 0 && entry.table->code.is_made_of(spec)) {
      entry.last_use = ++clock;
      return entry.table.get();
    }
  }
  if (kept.size() < kKeptTables) kept.emplace_back();
  Kept& oldest = *std::min_element(kept.begin(), kept.end(), [](const Kept& a, const Kept& b) {
    return a.last_use < b.last_use;
  });
  if (oldest.table == nullptr) oldest.table = std::make_unique_for_overwrite<Table>();
  oldest.last_use = 0;
  if (!oldest.table->build(spec)) return nullptr;
  oldest.last_use = ++clock;
  return oldest.table.get();
}

const DcTable* HuffmanTableCache::dc(const HuffmanSpec& spec) { return dc_.find(spec); }
AcTable* HuffmanTableCache::ac(const HuffmanSpec& spec) { return ac_.find(spec); }

std::size_t HuffmanTableCache::held_bytes() const {
  return shelf_bytes<DcTable>(dc_.kept.size()) + shelf_bytes<AcTable>(ac_.kept.size());
}

void HuffmanTableCache::release() {
  dc_ = {};
  ac_ = {};
}

}  // namespace dts
