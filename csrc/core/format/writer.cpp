// SPDX-License-Identifier: Apache-2.0
// class Writer of format/writer.h. The functions that make a block's bytes are in
// block_writer.cpp.
#include "format/writer.h"

#include <algorithm>
#include <utility>

#include "base/crc32.h"
#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

constexpr std::array<std::string_view, 3> kOwnTags = {"HEAD", "BIDX", "SIZE"};

// What the readers that define version 3.0 take: samples a block by level.
constexpr std::uint32_t kOldRoomLevel0 = 340;
constexpr std::uint32_t kOldRoom = 1000;

void require(bool holds, const std::string& problem) {
  if (!holds) throw InvalidArgument(problem);
}

Header checked(Header header) {
  require(header.has_blocks(), "dataset_type is " + in_quotes(header.dataset_type) +
                                   ", expected IMAGENET for a file of blocks");
  require(header.compress_level <= 3,
          "level is " + std::to_string(header.compress_level) + ", expected 0 .. 3");
  require(header.is_training <= 1,
          "is_training is " + std::to_string(header.is_training) + ", expected 0 or 1");
  require(header.num_classes <= kMaxClasses, std::to_string(header.num_classes) +
                                                 " classes, expected at most " +
                                                 std::to_string(kMaxClasses));
  require(header.block_size != 0 && header.block_size % kDefaultBlockBytes == 0,
          "block_size is " + std::to_string(header.block_size) +
              ", expected a multiple of 16 MiB below 4 GiB");
  require(header.block_header_size >= 24 && header.block_header_size % kSampleAlignment == 0 &&
              header.block_header_size < header.block_size,
          "block_header_size is " + std::to_string(header.block_header_size) +
              ", expected a multiple of 64 below block_size");
  require(header.volume_id < header.num_volumes,
          "volume_id is " + std::to_string(header.volume_id) + ", expected below num_volumes " +
              std::to_string(header.num_volumes));
  header.header_bytes = kHeaderAreaBytes;
  header.pic_alignment = kSampleAlignment;
  header.block_bytes = std::uint64_t{header.num_blocks} * header.block_size;
  return header;
}

// Place of a tag in the layout: known tags in their order, then the others by name.
std::pair<std::size_t, std::string> layout_rank(const std::string& tag) {
  const auto at = std::find(kSectionTags.begin(), kSectionTags.end(), tag);
  return {static_cast<std::size_t>(at - kSectionTags.begin()), tag};
}

std::vector<std::byte> pack_u32(std::span<const std::uint32_t> words) {
  std::vector<std::byte> bytes(words.size() * 4);
  if (!bytes.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace

Writer::Writer(std::string target, bool overwrite, Header header, bool resume)
    : header_(checked(std::move(header))),
      output_(std::move(target), overwrite, resume),
      blocks_(header_.num_blocks) {
  const std::uint64_t bytes = kHeaderAreaBytes + header_.block_bytes;
  if (resume) {
    // An earlier writer may have come as far as the sections: gaps between them are zeros.
    output_.resize(bytes);
    output_.write_at(0, std::vector<std::byte>(kHeaderAreaBytes));
  }
  output_.reserve(bytes);
}

void Writer::require_unfinished() const { require(!finished_, "the writer has finished"); }

std::vector<std::uint32_t> Writer::claim_block(std::uint32_t block_id, std::size_t block_bytes,
                                               std::span<const std::int64_t> sizes) {
  require(block_id < header_.num_blocks, "block " + std::to_string(block_id) + " of " +
                                             std::to_string(header_.num_blocks) + " blocks");
  require(block_bytes == header_.block_size, "block " + std::to_string(block_id) + " has " +
                                                 std::to_string(block_bytes) + " bytes, expected " +
                                                 std::to_string(header_.block_size));
  require(!sizes.empty() && sizes.size() <= header_.index_room(),
          "block " + std::to_string(block_id) + " has " + std::to_string(sizes.size()) +
              " samples, expected 1 .. " + std::to_string(header_.index_room()));
  std::vector<std::uint32_t> stored_sizes;
  stored_sizes.reserve(sizes.size());
  for (const std::int64_t size : sizes) {
    require(size >= 0 && size <= std::int64_t{header_.block_size},
            "a sample of " + std::to_string(size) + " bytes in block " + std::to_string(block_id));
    stored_sizes.push_back(static_cast<std::uint32_t>(size));
  }
  const std::lock_guard lock(mutex_);
  require_unfinished();
  BlockRecord& record = blocks_[block_id];
  require(record.state == BlockRecord::State::kMissing,
          "block " + std::to_string(block_id) + " is written twice");
  record.state = BlockRecord::State::kInWork;
  return stored_sizes;
}

void Writer::settle_block(std::uint32_t block_id, BlockRecord record) {
  const std::lock_guard lock(mutex_);
  blocks_[block_id] = std::move(record);
}

void Writer::write_block(std::uint32_t block_id, ConstByteSpan block, std::uint32_t crc,
                         std::span<const std::int64_t> sizes) {
  auto stored_sizes = claim_block(block_id, block.size(), sizes);
  try {
    output_.write_at(kHeaderAreaBytes + std::uint64_t{block_id} * header_.block_size, block);
  } catch (...) {
    settle_block(block_id, {});  // missing again: it may be tried once more
    throw;
  }
  settle_block(block_id, {BlockRecord::State::kWritten, crc, std::move(stored_sizes)});
}

bool Writer::adopt_block(std::uint32_t block_id, std::uint32_t crc,
                         std::span<const std::int64_t> sizes, ByteSpan scratch) {
  auto stored_sizes = claim_block(block_id, scratch.size(), sizes);
  bool fits = false;
  try {
    const std::uint64_t offset = kHeaderAreaBytes + std::uint64_t{block_id} * header_.block_size;
    fits = output_.read_some(offset, scratch) == scratch.size() && crc32(0, scratch) == crc;
  } catch (...) {
    settle_block(block_id, {});
    throw;
  }
  BlockRecord record;
  if (fits) record = {BlockRecord::State::kWritten, crc, std::move(stored_sizes)};
  settle_block(block_id, std::move(record));
  return fits;
}

void Writer::add_section(const std::string& tag, std::uint32_t flags,
                         std::vector<std::byte> payload, std::uint64_t raw_bytes) {
  const std::string name = "section " + in_quotes(tag);
  require(tag.size() == 4 &&
              std::all_of(tag.begin(), tag.end(), [](char c) { return c > 0x20 && c < 0x7F; }),
          name + ": a tag is four printable characters");
  require(std::find(kOwnTags.begin(), kOwnTags.end(), tag) == kOwnTags.end(),
          name + " is written by the writer itself");
  require((flags & ~(kSectionZlib | kSectionRequired)) == 0,
          name + ": flags are " + hex32(flags) + ", expected only bits 0 and 1");
  require(raw_bytes <= kMaxSectionRawBytes, name + ": " + std::to_string(raw_bytes) +
                                                " raw bytes, expected at most " +
                                                std::to_string(kMaxSectionRawBytes));
  require((flags & kSectionZlib) != 0 ? may_inflate_to(raw_bytes, payload.size())
                                      : raw_bytes == payload.size(),
          name + ": " + std::to_string(raw_bytes) + " raw bytes do not go with " +
              std::to_string(payload.size()) + " stored ones");
  const std::lock_guard lock(mutex_);
  require_unfinished();
  require(std::none_of(pending_.begin(), pending_.end(),
                       [&tag](const Pending& other) { return other.section.tag == tag; }),
          name + " is added twice");
  require(pending_.size() + kOwnTags.size() < kMaxSections,
          name + ": more than " + std::to_string(kMaxSections) + " sections");
  Section section;
  section.tag = tag;
  section.flags = flags;
  section.stored_bytes = payload.size();
  section.raw_bytes = raw_bytes;
  section.crc = crc32(0, payload);
  pending_.push_back({std::move(section), std::move(payload)});
}

void Writer::set_normalization(const std::array<float, 3>& mean, const std::array<float, 3>& std) {
  const std::lock_guard lock(mutex_);
  require_unfinished();
  header_.set_normalization(mean, std);
}

void Writer::add_own_sections() {
  std::vector<std::uint32_t> bidx;
  std::vector<std::uint32_t> sizes;
  header_.max_pic_per_block = 0;
  for (const BlockRecord& record : blocks_) {
    const auto count = static_cast<std::uint32_t>(record.sizes.size());
    bidx.push_back(count);
    bidx.push_back(record.crc);
    sizes.insert(sizes.end(), record.sizes.begin(), record.sizes.end());
    header_.max_pic_per_block = std::max(header_.max_pic_per_block, count);
  }
  require(sizes.size() <= kMaxSamplesPerFile,
          std::to_string(sizes.size()) + " samples, expected at most " +
              std::to_string(kMaxSamplesPerFile) + " in a file");
  header_.num_samples = static_cast<std::uint32_t>(sizes.size());
  for (const Pending& pending : pending_) {
    const Section& section = pending.section;
    require((section.tag != "LABL" && section.tag != "ORDR") ||
                section.raw_bytes == 4 * std::uint64_t{header_.num_samples},
            "section " + in_quotes(section.tag) + " has " + std::to_string(section.raw_bytes) +
                " bytes, expected 4 for each of " + std::to_string(header_.num_samples) +
                " samples");
  }
  const auto add = [this](const char* tag, std::vector<std::byte> payload) {
    Section section;
    section.tag = tag;
    section.stored_bytes = section.raw_bytes = payload.size();
    section.crc = crc32(0, payload);
    pending_.push_back({std::move(section), std::move(payload)});
  };
  add("BIDX", pack_u32(bidx));
  add("SIZE", pack_u32(sizes));
  add("HEAD", std::vector<std::byte>(4));  // its content follows the layout
}

std::uint64_t Writer::lay_out() {
  std::sort(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) {
    return layout_rank(a.section.tag) < layout_rank(b.section.tag);
  });
  std::uint64_t in_header =
      align_up(kSectionTableOffset + kSectionTableHeadBytes + kSectionEntryBytes * pending_.size());
  std::uint64_t file_bytes = kHeaderAreaBytes + header_.block_bytes;
  for (Pending& pending : pending_) {
    Section& section = pending.section;
    if (in_header + section.stored_bytes <= kHeaderAreaBytes) {
      section.offset = in_header;
      in_header = align_up(in_header + section.stored_bytes);
    } else {
      section.offset = align_up(file_bytes);
      file_bytes = section.offset + section.stored_bytes;
    }
  }
  return file_bytes;
}

void Writer::fill_header(std::uint64_t file_bytes, std::uint32_t max_pic_area,
                         std::uint64_t source_bytes) {
  const std::uint32_t old_room = header_.compress_level == 0 ? kOldRoomLevel0 : kOldRoom;
  if (header_.block_size != kDefaultBlockBytes || header_.max_pic_per_block > old_room) {
    header_.version = {3, 1, 0, 0};
  }
  if (header_.total_blocks == 0) header_.total_blocks = header_.num_blocks;
  header_.total_bytes = file_bytes;
  header_.max_pic_area = max_pic_area;
  header_.compression_ratio =
      source_bytes == 0
          ? 1.0f
          : static_cast<float>(static_cast<double>(file_bytes) / static_cast<double>(source_bytes));
}

std::uint32_t Writer::payload_crc(std::uint64_t file_bytes) const {
  std::uint32_t crc = 0;
  for (const BlockRecord& record : blocks_) {
    crc = crc32_combine(crc, record.crc, header_.block_size);
  }
  std::uint64_t end = kHeaderAreaBytes + header_.block_bytes;
  for (const Pending& pending : pending_) {
    const Section& section = pending.section;
    if (section.offset < kHeaderAreaBytes) continue;
    crc = crc32_zeros(crc, section.offset - end);
    crc = crc32_combine(crc, section.crc, section.stored_bytes);
    end = section.offset + section.stored_bytes;
  }
  return crc32_zeros(crc, file_bytes - end);
}

void Writer::publish() {
  const std::lock_guard lock(mutex_);
  require(finished_, "the writer has not finished");
  output_.publish();
}

void Writer::seal(std::uint32_t max_pic_area, std::uint64_t source_bytes,
                  std::uint32_t total_blocks) {
  const std::lock_guard lock(mutex_);
  require_unfinished();
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    require(blocks_[i].state == BlockRecord::State::kWritten,
            "block " + std::to_string(i) + " of " + std::to_string(blocks_.size()) + " is missing");
  }
  add_own_sections();
  finished_ = true;
  header_.total_blocks = total_blocks;
  const std::uint64_t file_bytes = lay_out();
  fill_header(file_bytes, max_pic_area, source_bytes);

  // HEAD covers all of the header but crc_code, which may cover HEAD.
  const auto unsigned_header = serialize_header(header_);
  for (Pending& pending : pending_) {
    if (pending.section.tag != "HEAD") continue;
    store_le(pending.payload.data(), crc32(0, ConstByteSpan(unsigned_header).first(140)));
    pending.section.crc = crc32(0, pending.payload);
  }
  header_.crc_code = payload_crc(file_bytes);

  std::vector<Section> sections;
  for (const Pending& pending : pending_) {
    output_.write_at(pending.section.offset, pending.payload);
    sections.push_back(pending.section);
  }
  output_.write_at(kSectionTableOffset, serialize_section_table(sections));
  output_.write_at(0, serialize_header(header_));
  output_.seal(file_bytes);
}

}  // namespace dts
