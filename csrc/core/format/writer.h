// SPDX-License-Identifier: Apache-2.0
// Writing a JPEG-block file: blocks in any order and from any thread, then sections
// and header, then the rename that makes the file appear.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/header.h"
#include "format/sections.h"

namespace dts {

// Writes a block's index into `block` (whole block, samples already at their places:
// the first at block_header_size, each next one behind the one before, rounded up to
// 64) and zeros all that is neither index nor sample. Returns the block's CRC-32.
// InvalidArgument when the samples don't fit the index room or the block.
// Thread-safe for different blocks.
std::uint32_t finish_block(ByteSpan block, std::uint32_t level, std::uint32_t block_id,
                           std::uint32_t block_header_size, std::span<const std::int64_t> sizes,
                           std::span<const std::int64_t> labels);

// Reads each file whole to its place in `arena`, in the order given. IoError names the
// file; CorruptFile when it is not `sizes[i]` bytes long any more ("changed while it
// was converted").
void read_files_into(std::span<const std::string> paths, std::span<const std::int64_t> offsets,
                     std::span<const std::int64_t> sizes, ByteSpan arena);

class Writer {
 public:
  // `header`: level, block_size, block_header_size, num_blocks, is_training,
  // num_classes, version, volumes ... as far as known; the rest is filled in by seal().
  // Reserves room for header area and blocks. Errors: OutputFile's; InvalidArgument for
  // a header no reader would take. Destroyed before publish() it leaves no file.
  // `resume`: the partial file keeps the blocks that an earlier writer of the same header
  // left in it, for adopt_block, and stays when this one goes unfinished.
  Writer(std::string target, bool overwrite, Header header, bool resume = false);

  // Block `block_id` of num_blocks, each exactly once, with the CRC of finish_block.
  // Thread-safe.
  void write_block(std::uint32_t block_id, ConstByteSpan block, std::uint32_t crc,
                   std::span<const std::int64_t> sizes);

  // Takes over a block that an earlier writer wrote. False, and the block stays missing, when
  // the partial file does not hold a block of this CRC-32. `scratch`: block_size bytes; the
  // block, where it was taken over.
  bool adopt_block(std::uint32_t block_id, std::uint32_t crc, std::span<const std::int64_t> sizes,
                   ByteSpan scratch);

  // A section's content; HEAD, BIDX and SIZE are the writer's own. `raw_bytes` differs
  // from the payload's length only for zlib sections. The tags of docs/format.md, each
  // at most once.
  void add_section(const std::string& tag, std::uint32_t flags, std::vector<std::byte> payload,
                   std::uint64_t raw_bytes);

  // What the header says of the set's pixels (Header::set_normalization). Before seal().
  void set_normalization(const std::array<float, 3>& mean, const std::array<float, 3>& std);

  // Lays out the sections, fills in the header (counts, sizes, CRC) and flushes all to the disk.
  // InvalidArgument when a block is missing. `source_bytes` gives compression_ratio; `total_blocks`
  // is that of the set; 0: it is not known, and the header has num_blocks there.
  void seal(std::uint32_t max_pic_area, std::uint64_t source_bytes, std::uint32_t total_blocks);
  // The file gets its name. InvalidArgument before seal().
  void publish();

 private:
  struct BlockRecord {
    enum class State { kMissing, kInWork, kWritten } state = State::kMissing;
    std::uint32_t crc = 0;
    std::vector<std::uint32_t> sizes;
  };
  struct Pending {
    Section section;
    std::vector<std::byte> payload;
  };

  // Marks a missing block as in work; returns its sizes, checked.
  std::vector<std::uint32_t> claim_block(std::uint32_t block_id, std::size_t block_bytes,
                                         std::span<const std::int64_t> sizes);
  void settle_block(std::uint32_t block_id, BlockRecord record);
  void add_own_sections();
  // Gives every section its offset; returns the size of the file.
  std::uint64_t lay_out();
  void fill_header(std::uint64_t file_bytes, std::uint32_t max_pic_area,
                   std::uint64_t source_bytes);
  // CRC-32 of [header_bytes, file_bytes).
  std::uint32_t payload_crc(std::uint64_t file_bytes) const;
  void require_unfinished() const;

  Header header_;  // checked before output_ creates a file
  OutputFile output_;
  std::mutex mutex_;
  bool finished_ = false;
  std::vector<BlockRecord> blocks_;
  std::vector<Pending> pending_;
};

}  // namespace dts
