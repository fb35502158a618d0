// SPDX-License-Identifier: Apache-2.0
// The tables of a DtsFile, each built on first use from its section or, in files
// without sections, from the block headers.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "format/pixel_reader.h"
#include "format/reader.h"
#include "format/scan_blocks.h"
#include "format/text.h"

namespace dts {
namespace {

[[noreturn]] void fail_section(const std::string& path, const Section& section, std::uint64_t at,
                               const std::string& problem) {
  throw CorruptFile(path, static_cast<std::int64_t>(section.offset + at),
                    "section " + in_quotes(section.tag) + ": " + problem);
}

}  // namespace

std::vector<std::byte> DtsFile::table_section(const Section& section,
                                              std::uint64_t expected_bytes) const {
  // Before it is read, so that its length bounds the memory.
  if (section.raw_bytes != expected_bytes) {
    fail_section(path(), section, 0,
                 std::to_string(section.raw_bytes) + " bytes, expected " +
                     std::to_string(expected_bytes) + " for " + std::to_string(header_.num_blocks) +
                     " blocks and " + std::to_string(header_.num_samples) + " samples");
  }
  return read_section(file_, section);
}

const SampleTable& DtsFile::samples() const {
  return samples_.get([this] {
    if (!header_.has_blocks()) return pixel_samples(header_);
    const Section* bidx = sections_.find("BIDX");
    const Section* size = sections_.find("SIZE");
    return bidx != nullptr && size != nullptr ? samples_from_sections(*bidx, *size)
                                              : samples_from_blocks();
  });
}

SampleTable DtsFile::samples_from_sections(const Section& bidx, const Section& size) const {
  const std::uint64_t num_blocks = header_.num_blocks;
  const std::uint64_t num_samples = header_.num_samples;
  const std::vector<std::byte> blocks = table_section(bidx, 8 * num_blocks);
  const std::vector<std::byte> sizes = table_section(size, 4 * num_samples);

  SampleTable table;
  table.first_sample.resize(num_blocks + 1);
  table.block_crcs.resize(num_blocks);
  for (std::uint64_t b = 0; b < num_blocks; ++b) {
    const auto count = load_le<std::uint32_t>(blocks.data() + 8 * b);
    if (count < 1 || count > header_.index_room()) {
      fail_section(path(), bidx, 8 * b,
                   "block " + std::to_string(b) + " has " + std::to_string(count) +
                       " samples, expected 1 .. " + std::to_string(header_.index_room()));
    }
    table.first_sample[b + 1] = table.first_sample[b] + count;
    table.block_crcs[b] = load_le<std::uint32_t>(blocks.data() + 8 * b + 4);
  }
  if (table.first_sample[num_blocks] != num_samples) {
    fail_section(path(), bidx, 0,
                 "the blocks hold " + std::to_string(table.first_sample[num_blocks]) +
                     " samples, but num_samples is " + std::to_string(num_samples));
  }

  table.sizes.resize(num_samples);
  if (num_samples > 0) std::memcpy(table.sizes.data(), sizes.data(), sizes.size());
  table.offsets.resize(num_samples);
  for (std::uint64_t b = 0; b < num_blocks; ++b) {
    std::uint64_t offset = header_.block_header_size;
    for (std::uint64_t i = table.first_sample[b]; i < table.first_sample[b + 1]; ++i) {
      // Both below 2^32, so neither sum wraps.
      if (offset + table.sizes[i] > header_.block_size) {
        fail_section(path(), size, 4 * i,
                     "stored sample " + std::to_string(i) + " has " +
                         std::to_string(table.sizes[i]) + " bytes at " + std::to_string(offset) +
                         " of block " + std::to_string(b) + ", behind the block's end " +
                         std::to_string(header_.block_size));
      }
      table.offsets[i] = block_start(b) + offset;
      offset = align_up(offset + table.sizes[i]);
    }
  }
  return table;
}

SampleTable DtsFile::samples_from_blocks() const {
  const std::vector<std::vector<SlotMeta>> blocks =
      scan_blocks(file_, header_, [this] { return open_handle(); });
  SampleTable table;
  table.first_sample.push_back(0);
  table.block_crcs.assign(header_.num_blocks, -1);
  table.offsets.reserve(header_.num_samples);
  table.sizes.reserve(header_.num_samples);
  table.stored_labels.reserve(header_.num_samples);
  for (std::uint64_t b = 0; b < blocks.size(); ++b) {
    for (const SlotMeta& slot : blocks[b]) {
      table.offsets.push_back(block_start(b) + slot.offset);
      table.sizes.push_back(slot.size);
      table.stored_labels.push_back(slot.label);
    }
    table.first_sample.push_back(table.offsets.size());
  }
  return table;
}

const std::vector<std::uint32_t>& DtsFile::source_order() const {
  return source_order_.get([this] { return load_source_order(); });
}

std::vector<std::uint32_t> DtsFile::load_source_order() const {
  std::vector<std::uint32_t> order(header_.num_samples);
  const Section* section = header_.has_blocks() ? sections_.find("ORDR") : nullptr;
  if (section == nullptr) {
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  const std::vector<std::byte> content = table_section(*section, 4 * std::uint64_t{order.size()});
  if (!order.empty()) std::memcpy(order.data(), content.data(), content.size());
  if (header_.num_volumes == 1) {
    std::vector<bool> seen(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i] >= order.size() || seen[order[i]]) {
        fail_section(
            path(), *section, 4 * i,
            "no permutation: stored sample " + std::to_string(i) + " has source index " +
                std::to_string(order[i]) +
                (order[i] < order.size() ? ", which another has too"
                                         : ", expected 0 .. " + std::to_string(order.size() - 1)));
      }
      seen[order[i]] = true;
    }
  } else {
    std::vector<std::uint32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
    if (twice != sorted.end()) {
      fail_section(path(), *section, 0,
                   "source index " + std::to_string(*twice) + " stands for two stored samples");
    }
  }
  return order;
}

const std::vector<std::uint32_t>& DtsFile::source_places() const {
  if (header_.num_volumes == 1) return source_order();
  // A volume's source indices have gaps: the place is the rank among its own.
  return source_places_.get([this] {
    const std::vector<std::uint32_t>& order = source_order();
    std::vector<std::uint32_t> by_source(order.size());
    std::iota(by_source.begin(), by_source.end(), 0);
    std::sort(by_source.begin(), by_source.end(),
              [&order](std::uint32_t a, std::uint32_t b) { return order[a] < order[b]; });
    std::vector<std::uint32_t> places(order.size());
    for (std::uint32_t rank = 0; rank < by_source.size(); ++rank) places[by_source[rank]] = rank;
    return places;
  });
}

const std::vector<std::int32_t>& DtsFile::labels() const {
  return labels_.get(
      [this] { return header_.has_blocks() ? load_labels() : read_pixel_labels(*this, file_); });
}

std::vector<std::int32_t> DtsFile::load_labels() const {
  std::vector<std::int32_t> labels(header_.num_samples);
  if (const Section* section = sections_.find("LABL")) {
    const std::vector<std::byte> content =
        table_section(*section, 4 * std::uint64_t{labels.size()});
    if (!labels.empty()) std::memcpy(labels.data(), content.data(), content.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0 || static_cast<std::uint32_t>(labels[i]) >= header_.num_classes) {
        fail_section(path(), *section, 4 * i,
                     "label " + std::to_string(i) + " is " + std::to_string(labels[i]) +
                         ", expected 0 .. " +
                         std::to_string(std::int64_t{header_.num_classes} - 1));
      }
    }
    return labels;
  }
  const std::vector<std::uint32_t>& places = source_places();
  std::vector<std::int32_t> scanned;
  const std::vector<std::int32_t>* stored = &samples().stored_labels;
  if (stored->size() != labels.size()) {  // the other tables came from sections
    scanned = samples_from_blocks().stored_labels;
    stored = &scanned;
  }
  for (std::size_t i = 0; i < labels.size(); ++i) labels[places[i]] = (*stored)[i];
  return labels;
}

}  // namespace dts
