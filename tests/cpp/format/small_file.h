// SPDX-License-Identifier: Apache-2.0
// A small .dts file made byte by byte, without the writer: what the readers are tested
// with. Its blocks are 16 MiB but hold a few samples, so on the disk the file is holes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/crc32.h"
#include "format/header.h"
#include "support.h"

namespace dts::testing {

inline constexpr std::uint64_t kArea = 16 << 20;
inline constexpr std::uint64_t kTable = 4096;

struct SmallSample {
  Bytes bytes;
  std::int32_t label;
};

struct SmallSection {
  std::string tag;
  std::uint32_t flags = 0;
  Bytes stored;
  std::uint64_t raw_bytes = 0;
  std::uint64_t offset = 0;  // 0: behind the one before
};

inline Bytes words(const std::vector<std::uint32_t>& values) {
  Bytes bytes(4 * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) store_le(bytes.data() + 4 * i, values[i]);
  return bytes;
}

struct SmallFile {
  Header header;
  std::vector<std::vector<SmallSample>> blocks;
  std::vector<SmallSection> sections;  // empty: an old file

  // Start of a block: index and samples, without the zeros behind them.
  Bytes block_bytes(std::uint32_t block_id) const {
    const auto& samples = blocks[block_id];
    const std::size_t n = samples.size();
    Bytes bytes(header.block_header_size);
    const char magic[] = {'L', 'V', static_cast<char>('0' + header.compress_level), 'B'};
    std::memcpy(bytes.data(), magic, 4);
    store_le(bytes.data() + 4, block_id);
    store_le(bytes.data() + 8, static_cast<std::uint32_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      store_le(bytes.data() + 12 + 4 * i, static_cast<std::uint32_t>(bytes.size()));
      store_le(bytes.data() + 12 + 4 * (n + i),
               static_cast<std::uint32_t>(samples[i].bytes.size()));
      store_le(bytes.data() + 12 + 4 * (2 * n + i), samples[i].label);
      bytes.insert(bytes.end(), samples[i].bytes.begin(), samples[i].bytes.end());
      bytes.resize((bytes.size() + 63) / 64 * 64);
    }
    return bytes;
  }

  std::uint32_t block_crc(std::uint32_t block_id) const {
    const Bytes bytes = block_bytes(block_id);
    return crc32_zeros(crc32(0, bytes), header.block_size - bytes.size());
  }

  std::uint64_t block_start(std::uint64_t block_id) const {
    return kArea + block_id * header.block_size;
  }

  void add(const std::string& tag, const Bytes& content) {
    sections.push_back({tag, 0, content, content.size(), 0});
  }

  SmallSection& section(const std::string& tag) {
    for (SmallSection& section : sections) {
      if (section.tag == tag) return section;
    }
    FAIL("no section " << tag);
    std::abort();
  }

  // Replaces a section's content.
  void set(const std::string& tag, const Bytes& content) {
    section(tag).stored = content;
    section(tag).raw_bytes = content.size();
  }

  // BIDX, SIZE, LABL and ORDR of the blocks; stored sample i has source index order[i].
  void add_tables(const std::vector<std::uint32_t>& order) {
    std::vector<std::uint32_t> bidx;
    std::vector<std::uint32_t> sizes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> labels;
    for (std::uint32_t b = 0; b < blocks.size(); ++b) {
      bidx.push_back(static_cast<std::uint32_t>(blocks[b].size()));
      bidx.push_back(block_crc(b));
      for (const SmallSample& sample : blocks[b]) {
        labels.emplace_back(order[sizes.size()], static_cast<std::uint32_t>(sample.label));
        sizes.push_back(static_cast<std::uint32_t>(sample.bytes.size()));
      }
    }
    std::sort(labels.begin(), labels.end());
    std::vector<std::uint32_t> by_source;
    for (const auto& label : labels) by_source.push_back(label.second);
    add("BIDX", words(bidx));
    add("SIZE", words(sizes));
    add("LABL", words(by_source));
    add("ORDR", words(order));
  }

  void add_head() {
    const auto bytes = serialize_header(header);
    add("HEAD", words({crc32(0, ConstByteSpan(bytes).first(140))}));
  }

  std::uint64_t place_sections() {
    std::uint64_t at = kTable + 16 + 40 * sections.size();
    for (SmallSection& section : sections) {
      if (section.offset == 0) section.offset = (at + 63) / 64 * 64;
      at = section.offset + section.stored.size();
    }
    return at;
  }

  Bytes table() const {
    Bytes bytes = bytes_of("DTSX");
    const Bytes head = words({1, static_cast<std::uint32_t>(sections.size()), 0});
    bytes.insert(bytes.end(), head.begin(), head.end());
    for (const SmallSection& section : sections) {
      Bytes entry(40);
      std::memcpy(entry.data(), section.tag.data(), 4);
      store_le(entry.data() + 4, section.flags);
      store_le(entry.data() + 8, section.offset);
      store_le(entry.data() + 16, std::uint64_t{section.stored.size()});
      store_le(entry.data() + 24, section.raw_bytes);
      store_le(entry.data() + 32, crc32(0, section.stored));
      bytes.insert(bytes.end(), entry.begin(), entry.end());
    }
    store_le(bytes.data() + 12, crc32(0, bytes));
    return bytes;
  }

  void write(const std::string& path) {
    patch(path, 0, serialize_header(header));
    std::uint64_t end = kArea + blocks.size() * std::uint64_t{header.block_size};
    if (!sections.empty()) {
      end = std::max(end, place_sections());
      patch(path, kTable, table());
      for (const SmallSection& section : sections) patch(path, section.offset, section.stored);
    }
    for (std::uint32_t b = 0; b < blocks.size(); ++b) patch(path, block_start(b), block_bytes(b));
    set_size(path, end);
  }
};

// Two blocks with samples of 100, 0, 64 and 300, 65 bytes, labels 0 .. 2; stored sample i
// has source index {3, 1, 4, 0, 2}[i].
inline const std::vector<std::uint32_t> kSmallOrder = {3, 1, 4, 0, 2};

inline SmallFile small_old_file() {
  SmallFile file;
  file.blocks = {{{noise(100, 1), 2}, {Bytes{}, 0}, {noise(64, 3), 2}},
                 {{noise(300, 4), 0}, {noise(65, 5), 1}}};
  file.header.num_classes = 3;
  file.header.num_samples = 5;
  file.header.num_blocks = 2;
  file.header.total_blocks = 2;
  file.header.block_bytes = 32 << 20;
  file.header.total_bytes = 48 << 20;
  return file;
}

inline SmallFile small_file() {
  SmallFile file = small_old_file();
  file.add_tables(kSmallOrder);
  file.add_head();
  return file;
}

// Sets a word of the section table and makes the table's CRC right again.
template <class T>
void patch_table(const std::string& path, std::uint64_t offset, T value) {
  patch_value(path, kTable + offset, value);
  const Bytes head = read_range(path, kTable, 16);
  Bytes table = read_range(path, kTable, 16 + 40 * load_le<std::uint32_t>(head.data() + 8));
  store_le(table.data() + 12, std::uint32_t{0});
  patch_value(path, kTable + 12, crc32(0, table));
}

// Where the field of a section's entry lies in the table.
inline std::uint64_t entry_field(const SmallFile& file, const std::string& tag,
                                 std::uint64_t field) {
  for (std::size_t i = 0; i < file.sections.size(); ++i) {
    if (file.sections[i].tag == tag) return 16 + 40 * i + field;
  }
  FAIL("no section " << tag);
  std::abort();
}

}  // namespace dts::testing
