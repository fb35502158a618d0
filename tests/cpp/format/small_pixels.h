// SPDX-License-Identifier: Apache-2.0
// A small pixel file made byte by byte, without the writer: what the readers are tested with.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/crc32.h"
#include "format/header.h"
#include "support.h"

namespace dts::testing {

struct SmallPixels {
  Header header;
  Bytes labels;
  Bytes pixels;
  std::vector<std::pair<std::string, Bytes>> sections;  // HEAD is made; empty: an old file

  std::size_t payload_end() const { return 256 + labels.size() + pixels.size(); }
  std::size_t table_at() const { return (payload_end() + 63) / 64 * 64; }

  // The whole file, with CRCs that fit.
  Bytes bytes() {
    Bytes file(256);
    file.insert(file.end(), labels.begin(), labels.end());
    file.insert(file.end(), pixels.begin(), pixels.end());
    if (!sections.empty()) add_tail(file);
    header.crc_code = crc32(0, ConstByteSpan(file).subspan(256));
    const auto head = serialize_header(header);
    std::copy(head.begin(), head.end(), file.begin());
    return file;
  }

  std::string write(const std::string& path) {
    patch(path, 0, bytes());
    return path;
  }

 private:
  void add_tail(Bytes& file) {
    const std::size_t table = table_at();
    std::size_t at = table + 16 + 40 * sections.size();
    std::vector<std::size_t> places;
    for (const auto& section : sections) {
      places.push_back((at + 63) / 64 * 64);
      at = places.back() + section.second.size();
    }
    header.total_bytes = at + 16;
    for (auto& [tag, content] : sections) {
      if (tag == "HEAD") {
        store_le(content.data(), crc32(0, ConstByteSpan(serialize_header(header)).first(140)));
      }
    }
    file.resize(at + 16);
    std::byte* entry = file.data() + table;
    std::memcpy(entry, "DTSX", 4);
    store_le(entry + 4, std::uint32_t{1});
    store_le(entry + 8, static_cast<std::uint32_t>(sections.size()));
    entry += 16;
    for (std::size_t i = 0; i < sections.size(); ++i, entry += 40) {
      const auto& [tag, content] = sections[i];
      std::memcpy(entry, tag.data(), 4);
      store_le(entry + 8, std::uint64_t{places[i]});
      store_le(entry + 16, std::uint64_t{content.size()});
      store_le(entry + 24, std::uint64_t{content.size()});
      store_le(entry + 32, crc32(0, content));
      std::copy(content.begin(), content.end(),
                file.begin() + static_cast<std::ptrdiff_t>(places[i]));
    }
    const std::size_t num_table_bytes = 16 + 40 * sections.size();
    store_le(file.data() + table + 12,
             crc32(0, ConstByteSpan(file).subspan(table, num_table_bytes)));
    std::byte* footer = file.data() + at;
    store_le(footer, std::uint64_t{table});
    std::memcpy(footer + 8, "DTSX", 4);
    store_le(footer + 12, crc32(0, ConstByteSpan(file).subspan(at, 12)));
  }
};

// Three pictures 5 high and 7 wide with 3 channels: 256 .. 259 labels, .. 574 pixels.
inline SmallPixels small_pixels() {
  SmallPixels file;
  file.header.dataset_type = "PIXELS";
  file.header.num_classes = 3;
  file.header.image_height = 5;
  file.header.image_width = 7;
  file.header.num_samples = 3;
  file.header.total_blocks = file.header.num_blocks = 1;
  file.header.header_bytes = 256;
  file.header.block_bytes = file.header.block_size = 3 * (1 + 105);
  file.header.block_header_size = file.header.pic_alignment = 0;
  file.header.max_pic_area = 35;
  file.header.max_pic_per_block = 3;
  file.header.total_bytes = 256 + 3 * (1 + 105);
  file.labels = {std::byte{2}, std::byte{0}, std::byte{1}};
  file.pixels = noise(3 * 105, 5);
  return file;
}

// The same with sections as the writer orders them.
inline SmallPixels small_pixels_with_sections() {
  SmallPixels file = small_pixels();
  const Bytes classes = bytes_of(std::string("\3\0\0\0\1\0a\1\0b\1\0c", 13));
  file.sections = {{"HEAD", Bytes(4)}, {"INFO", bytes_of("{\"name\":\"x\"}")}, {"CLSS", classes}};
  return file;
}

}  // namespace dts::testing
