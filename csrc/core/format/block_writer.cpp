// SPDX-License-Identifier: Apache-2.0
// What makes a block of samples in memory: finish_block and read_files_into of
// format/writer.h.
#include <algorithm>
#include <limits>

#include "base/crc32.h"
#include "base/error.h"
#include "format/writer.h"

namespace dts {
namespace {

void check_shape(ByteSpan block, std::uint32_t level, std::uint32_t block_header_size,
                 std::size_t num_sizes, std::size_t num_labels) {
  if (level > 3) throw InvalidArgument("level is " + std::to_string(level) + ", expected 0 .. 3");
  if (block.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw InvalidArgument("a block of " + std::to_string(block.size()) +
                          " bytes, expected below 4 GiB");
  }
  if (block_header_size < 24 || block_header_size % kSampleAlignment != 0 ||
      block_header_size >= block.size()) {
    throw InvalidArgument("block_header_size is " + std::to_string(block_header_size) +
                          ", expected a multiple of 64 below the block's " +
                          std::to_string(block.size()) + " bytes");
  }
  if (num_sizes != num_labels) {
    throw InvalidArgument(std::to_string(num_sizes) + " sizes and " + std::to_string(num_labels) +
                          " labels");
  }
  const std::size_t room = (block_header_size - 12) / 12;
  if (num_sizes > room) {
    throw InvalidArgument(std::to_string(num_sizes) + " samples in a block, its index of " +
                          std::to_string(block_header_size) + " bytes has room for " +
                          std::to_string(room));
  }
}

void zero(ByteSpan block, std::uint64_t begin, std::uint64_t end) {
  std::fill(block.begin() + static_cast<std::ptrdiff_t>(begin),
            block.begin() + static_cast<std::ptrdiff_t>(end), std::byte{0});
}

[[noreturn]] void changed(const std::string& path, std::int64_t at, const std::string& how) {
  throw CorruptFile(path, at, "the file changed while it was converted: " + how);
}

}  // namespace

std::uint32_t finish_block(ByteSpan block, std::uint32_t level, std::uint32_t block_id,
                           std::uint32_t block_header_size, std::span<const std::int64_t> sizes,
                           std::span<const std::int64_t> labels) {
  check_shape(block, level, block_header_size, sizes.size(), labels.size());
  // All is checked before a byte is changed.
  const std::size_t num_samples = sizes.size();
  std::uint64_t end = block_header_size;
  for (std::size_t i = 0; i < num_samples; ++i) {
    const std::uint64_t start = align_up(end);
    if (sizes[i] < 0 || start > block.size() ||
        static_cast<std::uint64_t>(sizes[i]) > block.size() - start) {
      throw InvalidArgument("sample " + std::to_string(i) + " of " + std::to_string(sizes[i]) +
                            " bytes at " + std::to_string(start) + " does not fit the block of " +
                            std::to_string(block.size()) + " bytes");
    }
    if (labels[i] < 0 || labels[i] > std::numeric_limits<std::int32_t>::max()) {
      throw InvalidArgument("sample " + std::to_string(i) + " has label " +
                            std::to_string(labels[i]) + ", expected 0 .. 2147483647");
    }
    end = start + static_cast<std::uint64_t>(sizes[i]);
  }

  const char magic[4] = {'L', 'V', static_cast<char>('0' + level), 'B'};
  std::memcpy(block.data(), magic, 4);
  store_le(block.data() + 4, block_id);
  store_le(block.data() + 8, static_cast<std::uint32_t>(num_samples));
  std::byte* const offsets_at = block.data() + 12;
  std::byte* const sizes_at = offsets_at + 4 * num_samples;
  std::byte* const labels_at = sizes_at + 4 * num_samples;
  zero(block, 12 + 12 * num_samples, block_header_size);
  end = block_header_size;
  for (std::size_t i = 0; i < num_samples; ++i) {
    const std::uint64_t start = align_up(end);
    zero(block, end, start);
    store_le(offsets_at + 4 * i, static_cast<std::uint32_t>(start));
    store_le(sizes_at + 4 * i, static_cast<std::uint32_t>(sizes[i]));
    store_le(labels_at + 4 * i, static_cast<std::uint32_t>(labels[i]));
    end = start + static_cast<std::uint64_t>(sizes[i]);
  }
  zero(block, end, block.size());
  return crc32_zeros(crc32(0, block.first(end)), block.size() - end);
}

void read_files_into(std::span<const std::string> paths, std::span<const std::int64_t> offsets,
                     std::span<const std::int64_t> sizes, ByteSpan arena) {
  if (offsets.size() != paths.size() || sizes.size() != paths.size()) {
    throw InvalidArgument(std::to_string(paths.size()) + " paths, " +
                          std::to_string(offsets.size()) + " offsets and " +
                          std::to_string(sizes.size()) + " sizes");
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (offsets[i] < 0 || sizes[i] < 0 || static_cast<std::uint64_t>(offsets[i]) > arena.size() ||
        static_cast<std::uint64_t>(sizes[i]) >
            arena.size() - static_cast<std::uint64_t>(offsets[i])) {
      throw InvalidArgument("file " + std::to_string(i) + " of " + std::to_string(sizes[i]) +
                            " bytes at " + std::to_string(offsets[i]) +
                            " does not fit the arena of " + std::to_string(arena.size()) +
                            " bytes");
    }
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const InputFile file(paths[i]);
    const FileIdentity before = file.identity();
    const auto size = static_cast<std::uint64_t>(sizes[i]);
    if (before.size != size) {
      changed(paths[i], static_cast<std::int64_t>(std::min(before.size, size)),
              "it has " + std::to_string(before.size) + " bytes, expected " + std::to_string(size));
    }
    const std::size_t got =
        file.read_some(0, arena.subspan(static_cast<std::size_t>(offsets[i]), size));
    if (got != size) {
      changed(paths[i], static_cast<std::int64_t>(got),
              "it ends at byte " + std::to_string(got) + ", expected " + std::to_string(size));
    }
    if (file.identity() != before) changed(paths[i], -1, "it was written to while it was read");
  }
}

}  // namespace dts
