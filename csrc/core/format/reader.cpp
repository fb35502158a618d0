// SPDX-License-Identifier: Apache-2.0
// Opening, and whole blocks. Tables are in reader_tables.cpp, single samples in
// reader_samples.cpp.
#include "format/reader.h"

#include <algorithm>
#include <utility>

#include "base/crc32.h"
#include "base/error.h"
#include "format/block.h"
#include "format/pixel_sections.h"
#include "format/text.h"

namespace dts {

std::shared_ptr<DtsFile> DtsFile::open(std::string path, OpenOptions options) {
  return std::shared_ptr<DtsFile>(new DtsFile(InputFile(std::move(path)), options));
}

DtsFile::DtsFile(InputFile file, OpenOptions options)
    : file_(std::move(file)), options_(options), identity_(file_.identity()) {
  header_bytes_.resize(kHeaderBytes);
  header_bytes_.resize(file_.read_some(0, header_bytes_));
  header_ = parse_header(header_bytes_, identity_.size, file_.path());
  if (options_.ignore_sections) return;
  sections_ = header_.has_blocks()
                  ? read_section_table(file_, header_, header_bytes_, identity_.size)
                  : read_pixel_sections(file_, header_, header_bytes_, identity_.size);
}

InputFile DtsFile::open_handle() const {
  InputFile handle(path());
  check_unchanged(handle);
  return handle;
}

void DtsFile::check_unchanged(const InputFile& handle) const {
  const FileIdentity now = handle.identity();
  if (now == identity_) return;
  std::string problem = "the file changed since it was opened: ";
  if (now.device != identity_.device || now.inode != identity_.inode) {
    problem += "another file has its name now";
  } else if (now.size != identity_.size) {
    problem +=
        "it has " + std::to_string(now.size) + " bytes, expected " + std::to_string(identity_.size);
  } else {
    problem += "it was modified at " + std::to_string(now.mtime_ns) + " ns, expected " +
               std::to_string(identity_.mtime_ns) + " ns";
  }
  throw CorruptFile(path(), -1, problem + "; open it again");
}

std::vector<std::byte> DtsFile::section(const std::string& tag) const {
  const Section* section = sections_.find(tag);
  if (section == nullptr) throw OutOfRange("the file has no section " + in_quotes(tag));
  return read_section(file_, *section);
}

void DtsFile::require_blocks() const {
  if (!header_.has_blocks()) {
    throw InvalidArgument("a pixel file (" + header_.dataset_type + ") has no blocks");
  }
}

std::uint32_t DtsFile::checked_block_id(std::int64_t block_id) const {
  if (block_id < 0 || block_id >= std::int64_t{header_.num_blocks}) {
    throw OutOfRange("block " + std::to_string(block_id) + " is out of range, the file has " +
                     std::to_string(header_.num_blocks) + " blocks");
  }
  return static_cast<std::uint32_t>(block_id);
}

std::uint64_t DtsFile::block_start(std::uint64_t block_id) const {
  return header_.header_bytes + block_id * header_.block_size;
}

std::string DtsFile::describe(std::uint32_t block_id) const {
  const auto& first = samples().first_sample;
  return describe_block(block_id, first[block_id], first[block_id + 1]);
}

std::int64_t DtsFile::read_block(std::uint32_t block_id, ByteSpan block, const InputFile& handle,
                                 const std::atomic<bool>* maybe_stop) const {
  std::uint32_t crc = 0;
  // Piece by piece, so that the CRC finds the bytes still in the cache.
  for (std::size_t done = 0; done < block.size();) {
    if (maybe_stop != nullptr && maybe_stop->load()) return -1;
    const ByteSpan piece = block.subspan(done, std::min(kReadPieceBytes, block.size() - done));
    handle.read_exact(block_start(block_id) + done, piece);
    crc = crc32(crc, piece);
    done += piece.size();
  }
  return crc;
}

void DtsFile::check_crc(std::uint32_t block_id, std::uint32_t crc) const {
  const std::int64_t expected = samples().block_crcs[block_id];
  if (expected < 0 || expected == std::int64_t{crc}) return;
  throw CorruptFile(path(), static_cast<std::int64_t>(block_start(block_id)),
                    describe(block_id) + ": CRC-32 is " + hex32(crc) + ", expected " +
                        hex32(static_cast<std::uint32_t>(expected)));
}

void DtsFile::check_index(std::uint32_t block_id, ConstByteSpan block) const {
  const std::string name = describe(block_id);
  const BlockIndex index = parse_block_index(block, header_, block_id, path(), name);
  const SampleTable& table = samples();
  const std::uint64_t first = table.first_sample[block_id];
  const std::uint64_t num_samples = table.first_sample[block_id + 1] - first;
  const auto fail = [&](std::uint64_t at, const std::string& problem) {
    throw CorruptFile(path(), static_cast<std::int64_t>(block_start(block_id) + at),
                      name + ": " + problem);
  };
  if (index.num_samples != num_samples) {
    fail(8, "its index has " + std::to_string(index.num_samples) + " samples, expected " +
                std::to_string(num_samples));
  }
  const bool has_labels = sections_.find("LABL") != nullptr;
  const std::vector<std::int32_t>* maybe_labels = has_labels ? &labels() : nullptr;
  const std::vector<std::uint32_t>* maybe_places = has_labels ? &source_places() : nullptr;
  for (std::uint32_t i = 0; i < index.num_samples; ++i) {
    const SlotMeta slot = index.slot(i);
    const std::uint64_t stored = first + i;
    const std::uint64_t offset = table.offsets[stored] - block_start(block_id);
    if (slot.offset != offset || slot.size != table.sizes[stored]) {
      fail(12 + 4 * (std::uint64_t{i} + (slot.offset != offset ? 0 : num_samples)),
           "sample " + std::to_string(i) + " has " + std::to_string(slot.size) + " bytes at " +
               std::to_string(slot.offset) + ", expected " + std::to_string(table.sizes[stored]) +
               " bytes at " + std::to_string(offset));
    }
    if (!has_labels) continue;
    const std::int32_t label = (*maybe_labels)[(*maybe_places)[stored]];
    if (slot.label != label) {
      fail(12 + 8 * std::uint64_t{index.num_samples} + 4 * std::uint64_t{i},
           "sample " + std::to_string(i) + " has label " + std::to_string(slot.label) +
               ", expected " + std::to_string(label) + " as section 'LABL' says");
    }
  }
}

bool DtsFile::read_blocks(std::span<const std::int64_t> block_ids, ByteSpan out, bool check,
                          const InputFile& handle, const std::atomic<bool>* maybe_stop) const {
  require_blocks();
  const std::size_t block_size = header_.block_size;
  require_room_for_blocks(out, block_ids.size(), block_size);
  for (const std::int64_t block_id : block_ids) checked_block_id(block_id);
  check_unchanged(handle);
  for (std::size_t i = 0; i < block_ids.size(); ++i) {
    const auto block_id = static_cast<std::uint32_t>(block_ids[i]);
    const ByteSpan block = out.subspan(i * block_size, block_size);
    const std::int64_t crc = read_block(block_id, block, handle, maybe_stop);
    if (crc < 0) return false;
    if (check) check_crc(block_id, static_cast<std::uint32_t>(crc));
    check_index(block_id, block);
  }
  return true;
}

std::vector<ArenaSample> DtsFile::index_samples(ConstByteSpan arena,
                                                std::span<const std::int64_t> block_ids) const {
  require_blocks();
  const std::size_t block_size = header_.block_size;
  require_blocks_in(arena, block_ids.size(), block_size);
  std::vector<ArenaSample> samples;
  for (std::size_t i = 0; i < block_ids.size(); ++i) {
    const std::uint32_t block_id = checked_block_id(block_ids[i]);
    const ConstByteSpan block = arena.subspan(i * block_size, block_size);
    const BlockIndex index = parse_block_index(block, header_, block_id, path());
    for (std::uint32_t j = 0; j < index.num_samples; ++j) {
      const SlotMeta slot = index.slot(j);
      samples.push_back(
          {block_id, std::uint64_t{i} * block_size + slot.offset, slot.size, slot.label});
    }
  }
  return samples;
}

std::uint32_t DtsFile::check_block(std::uint32_t block_id, ByteSpan scratch,
                                   const InputFile& handle, std::string& problem) const {
  require_blocks();
  checked_block_id(block_id);
  if (scratch.size() < header_.block_size) {
    throw InvalidArgument("scratch has " + std::to_string(scratch.size()) + " bytes, expected " +
                          std::to_string(header_.block_size));
  }
  const ByteSpan block = scratch.first(header_.block_size);
  problem.clear();
  std::uint32_t crc = 0;
  try {
    crc = static_cast<std::uint32_t>(read_block(block_id, block, handle));
    check_crc(block_id, crc);
    check_index(block_id, block);
  } catch (const CorruptFile& error) {
    problem = error.what();
  }
  return crc;
}

std::uint32_t DtsFile::file_crc(std::span<const std::int64_t> block_crcs) const {
  const std::size_t num_blocks = header_.has_blocks() ? header_.num_blocks : 0;
  if (block_crcs.size() != num_blocks) {
    throw InvalidArgument(std::to_string(block_crcs.size()) + " block CRCs, expected " +
                          std::to_string(num_blocks));
  }
  std::uint32_t crc = 0;
  for (const std::int64_t block_crc : block_crcs) {
    if (block_crc < 0 || block_crc > 0xFFFFFFFF) {
      throw InvalidArgument("a block's CRC is " + std::to_string(block_crc) +
                            ", expected 0 .. 4294967295");
    }
    crc = crc32_combine(crc, static_cast<std::uint32_t>(block_crc), header_.block_size);
  }
  return crc_to_end(crc, block_start(num_blocks), file_);
}

std::uint32_t DtsFile::crc_to_end(std::uint32_t crc, std::uint64_t at,
                                  const InputFile& handle) const {
  std::vector<std::byte> buffer(
      std::min<std::uint64_t>(kReadPieceBytes, identity_.size - std::min(at, identity_.size)));
  while (at < identity_.size) {
    const ByteSpan piece =
        ByteSpan(buffer).first(std::min<std::uint64_t>(buffer.size(), identity_.size - at));
    handle.read_exact(at, piece);
    crc = crc32(crc, piece);
    at += piece.size();
  }
  return crc;
}

}  // namespace dts
