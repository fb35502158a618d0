// SPDX-License-Identifier: Apache-2.0
// The index at the start of a block (docs/format.md section 3).
//
//   0 magic "LVnB" | 4 block id | 8 n | 12 offsets[n] | 12+4n sizes[n] | 12+8n labels[n]
//   ... zeros up to block_header_size | samples, each padded to 64 | zeros up to block_size
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/header.h"

namespace dts {

// One sample in a block: where its bytes are (from the start of the block, padding
// excluded) and its class.
struct SlotMeta {
  std::uint32_t offset;
  std::uint32_t size;
  std::int32_t label;
};

// A checked view of a block's index; points into the caller's memory, copies nothing.
struct BlockIndex {
  std::uint32_t block_id = 0;
  std::uint32_t num_samples = 0;
  const std::byte* offsets = nullptr;
  const std::byte* sizes = nullptr;
  const std::byte* labels = nullptr;
  SlotMeta slot(std::uint32_t i) const {
    return {load_le<std::uint32_t>(offsets + 4 * std::size_t{i}),
            load_le<std::uint32_t>(sizes + 4 * std::size_t{i}),
            load_le<std::int32_t>(labels + 4 * std::size_t{i})};
  }
};

// InvalidArgument unless `out` is as large as so many blocks.
void require_room_for_blocks(ConstByteSpan out, std::size_t num_blocks, std::size_t block_size);
// InvalidArgument unless `arena` holds so many blocks, and maybe more.
void require_blocks_in(ConstByteSpan arena, std::size_t num_blocks, std::size_t block_size);

// How an error message names a block: "block 3 (stored samples 412..560)".
std::string describe_block(std::uint64_t block_id, std::uint64_t first_sample,
                           std::uint64_t end_sample);

// Number of samples that the 12 bytes at a block's start state, checked: magic fits the
// level, the id is `block_id`, n fits the index room and num_samples.
std::uint32_t parse_block_count(ConstByteSpan block_head, const Header& header,
                                std::uint32_t block_id, const std::string& path,
                                const std::string& name = {});

// Checks the index in `block_head` (the block's start, at least all of its index) and
// returns a view of it. Checked before use, in 64 bits: what parse_block_count checks,
// the first offset is block_header_size, offsets are multiples of 64 and rise without
// overlap, offset + size stays inside the block, labels lie in [0, num_classes).
// CorruptFile: offset in the file, block, sample, found, expected; `name` is what it
// calls the block ("block 3" when empty). Thread-safe.
BlockIndex parse_block_index(ConstByteSpan block_head, const Header& header, std::uint32_t block_id,
                             const std::string& path, const std::string& name = {});

}  // namespace dts
