// SPDX-License-Identifier: Apache-2.0
// The loop that reads Huffman codes, one for each SIMD level, with equal results. No
// allocation; all memory is the caller's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "jpeg/coefficients.h"
#include "jpeg/huffman_tables.h"

namespace dts {

// A place in coded data whose stuffed bytes were taken out.
struct EntropyStream {
  const std::uint8_t* next = nullptr;  // the first byte that is not all in `bits`
  std::uint64_t bits = 0;              // what comes next, from the left
  std::uint64_t count = 0;             // of them; only the lowest 6 bits mean something
  std::array<std::int32_t, kMaxComponents> dc = {};

  void start(const std::uint8_t* begin) { *this = {.next = begin}; }
  // Bits taken from `begin` on.
  std::int64_t bits_taken(const std::uint8_t* begin) const {
    return (next - begin) * 8 - static_cast<std::int64_t>(count & 63);
  }
};

inline constexpr int kMaxBlocksPerMcu = 6;

// The blocks of an MCU in the order of the scan.
struct McuBlocks {
  struct Block {
    const DcTable* dc = nullptr;
    const AcTable* ac = nullptr;
    std::size_t component = 0;
    // Where it goes in the next MCU, and how far these move on with each.
    std::int16_t* coefficients = nullptr;
    std::uint8_t* end = nullptr;
    std::int64_t step = 0;               // blocks
    unsigned kept = kBlockCoefficients;  // places in zigzag order
  };
  std::array<Block, kMaxBlocksPerMcu> blocks;
  int num_blocks = 0;
};

// More than the bytes that an MCU's codes take, whatever they are, and what is read ahead of them.
inline constexpr std::int64_t kMcuReadAhead = 2048;

// Reads up to `num_mcus` MCUs, fewer when one would begin behind `limit`; kMcuReadAhead bytes can
// be read behind it. Returns how many; -1 when there is a bad code or a block with too many
// coefficients. `blocks` moves on.
using ReadMcus = std::int64_t (*)(EntropyStream& stream, McuBlocks& blocks, std::int64_t num_mcus,
                                  const std::uint8_t* limit);

// Coefficients and ends are written, zeros too.
std::int64_t decode_mcus_generic(EntropyStream&, McuBlocks&, std::int64_t, const std::uint8_t*);
std::int64_t decode_mcus_avx2(EntropyStream&, McuBlocks&, std::int64_t, const std::uint8_t*);
// The same, but only the first `kept` coefficients of a block are sure to be written, zeros for
// others may be. The AC tables have skips.
std::int64_t decode_some_mcus_generic(EntropyStream&, McuBlocks&, std::int64_t,
                                      const std::uint8_t*);
std::int64_t decode_some_mcus_avx2(EntropyStream&, McuBlocks&, std::int64_t, const std::uint8_t*);
// Nothing is written, only DC is followed. The AC tables have skips.
std::int64_t skip_mcus_generic(EntropyStream&, McuBlocks&, std::int64_t, const std::uint8_t*);
std::int64_t skip_mcus_avx2(EntropyStream&, McuBlocks&, std::int64_t, const std::uint8_t*);

}  // namespace dts
