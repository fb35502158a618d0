// SPDX-License-Identifier: Apache-2.0
#include "format/block.h"

#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

constexpr std::uint64_t kIndexStart = 12;

// Errors about one block: its name and the place in the file.
class BlockFault {
 public:
  BlockFault(const Header& header, std::uint32_t block_id, const std::string& path,
             const std::string& name)
      : start_(header.header_bytes + std::uint64_t{block_id} * header.block_size),
        block_id_(block_id),
        path_(path),
        name_(name) {}

  [[noreturn]] void at(std::uint64_t offset, const std::string& problem) const {
    throw CorruptFile(
        path_, static_cast<std::int64_t>(start_ + offset),
        (name_.empty() ? "block " + std::to_string(block_id_) : name_) + ": " + problem);
  }

 private:
  std::uint64_t start_;
  std::uint32_t block_id_;
  const std::string& path_;
  const std::string& name_;
};

std::string blocks_expected(std::size_t num_bytes, std::size_t num_blocks, std::size_t block_size) {
  return std::to_string(num_bytes) + " bytes, expected " + std::to_string(num_blocks) +
         " blocks of " + std::to_string(block_size);
}

}  // namespace

void require_room_for_blocks(ConstByteSpan out, std::size_t num_blocks, std::size_t block_size) {
  if (out.size() / block_size == num_blocks && out.size() % block_size == 0) return;
  throw InvalidArgument("out has " + blocks_expected(out.size(), num_blocks, block_size));
}

void require_blocks_in(ConstByteSpan arena, std::size_t num_blocks, std::size_t block_size) {
  if (arena.size() / block_size >= num_blocks) return;
  throw InvalidArgument("the arena has " + blocks_expected(arena.size(), num_blocks, block_size));
}

std::string describe_block(std::uint64_t block_id, std::uint64_t first_sample,
                           std::uint64_t end_sample) {
  const std::string name = "block " + std::to_string(block_id);
  if (first_sample == end_sample) return name + " (no samples)";
  return name + " (stored samples " + std::to_string(first_sample) + ".." +
         std::to_string(end_sample - 1) + ")";
}

std::uint32_t parse_block_count(ConstByteSpan block_head, const Header& header,
                                std::uint32_t block_id, const std::string& path,
                                const std::string& name) {
  const BlockFault fault(header, block_id, path, name);
  if (block_head.size() < kIndexStart) {
    throw InvalidArgument("a block's head has at least 12 bytes, not " +
                          std::to_string(block_head.size()));
  }
  const std::string magic = "LV" + std::to_string(header.compress_level) + "B";
  if (as_text(block_head.first(4)) != magic) {
    fault.at(0, "magic is " + in_quotes(as_text(block_head.first(4))) + ", expected " +
                    in_quotes(magic));
  }
  const auto id = load_le<std::uint32_t>(block_head.data() + 4);
  if (id != block_id) fault.at(4, "it says that it is block " + std::to_string(id));
  const auto num_samples = load_le<std::uint32_t>(block_head.data() + 8);
  if (num_samples > header.index_room()) {
    fault.at(8, std::to_string(num_samples) + " samples, expected at most " +
                    std::to_string(header.index_room()) + " (the index has no more room)");
  }
  if (num_samples > header.num_samples) {
    fault.at(8, std::to_string(num_samples) + " samples, but the whole file has " +
                    std::to_string(header.num_samples));
  }
  return num_samples;
}

BlockIndex parse_block_index(ConstByteSpan block_head, const Header& header, std::uint32_t block_id,
                             const std::string& path, const std::string& name) {
  const BlockFault fault(header, block_id, path, name);
  BlockIndex index;
  index.block_id = block_id;
  index.num_samples = parse_block_count(block_head, header, block_id, path, name);
  const std::size_t array_bytes = 4 * std::size_t{index.num_samples};
  if (block_head.size() < kIndexStart + 3 * array_bytes) {
    throw InvalidArgument("the index of block " + std::to_string(block_id) + " takes " +
                          std::to_string(kIndexStart + 3 * array_bytes) + " bytes, given were " +
                          std::to_string(block_head.size()));
  }
  index.offsets = block_head.data() + kIndexStart;
  index.sizes = index.offsets + array_bytes;
  index.labels = index.sizes + array_bytes;

  std::uint64_t end = header.block_header_size;  // of the sample before
  for (std::uint32_t i = 0; i < index.num_samples; ++i) {
    const SlotMeta slot = index.slot(i);
    const auto sample = [i] { return "sample " + std::to_string(i); };
    if (i == 0 && slot.offset != header.block_header_size) {
      fault.at(kIndexStart, sample() + " starts at " + std::to_string(slot.offset) + ", expected " +
                                std::to_string(header.block_header_size) + " = block_header_size");
    }
    if (slot.offset % kSampleAlignment != 0 || slot.offset < end) {
      fault.at(kIndexStart + 4 * std::uint64_t{i},
               sample() + " starts at " + std::to_string(slot.offset) +
                   ", expected a multiple of 64 not below " + std::to_string(end) +
                   ", the end of the sample before");
    }
    end = std::uint64_t{slot.offset} + slot.size;
    if (end > header.block_size) {
      fault.at(kIndexStart + array_bytes + 4 * std::uint64_t{i},
               sample() + " at " + std::to_string(slot.offset) + " has " +
                   std::to_string(slot.size) + " bytes and ends at " + std::to_string(end) +
                   ", behind the block's end " + std::to_string(header.block_size));
    }
    if (slot.label < 0 || static_cast<std::uint32_t>(slot.label) >= header.num_classes) {
      fault.at(kIndexStart + 2 * array_bytes + 4 * std::uint64_t{i},
               sample() + " has label " + std::to_string(slot.label) + ", expected 0 .. " +
                   std::to_string(std::int64_t{header.num_classes} - 1));
    }
  }
  return index;
}

}  // namespace dts
