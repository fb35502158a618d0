// SPDX-License-Identifier: Apache-2.0
#include "jpeg/splice_header.h"

#include <algorithm>
#include <array>

namespace dts {
namespace {

constexpr std::uint8_t kSoi = 0xD8, kSof0 = 0xC0, kSof1 = 0xC1, kDht = 0xC4, kSos = 0xDA;
constexpr std::uint8_t kDqt = 0xDB, kDri = 0xDD, kApp0 = 0xE0, kApp14 = 0xEE, kApp15 = 0xEF;
constexpr std::uint8_t kCom = 0xFE;
constexpr std::int64_t kBlock = 8;        // pixels of a block's side
constexpr int kMaxSide = 65500;           // libjpeg's limit
constexpr int kMaxFactor = 4;             // of a component's sampling
constexpr int kMaxBlocksInMcu = 10;       // of the standard
constexpr std::size_t kMaxTables = 4;     // of each kind
constexpr std::size_t kMaxSymbols = 256;  // of a Huffman table
constexpr std::size_t kCodeLengths = 16;
constexpr std::size_t kMaxComponents = 4;

std::uint8_t byte_at(ConstByteSpan data, std::size_t at) {
  return std::to_integer<std::uint8_t>(data[at]);
}

std::size_t word_at(ConstByteSpan data, std::size_t at) {
  return std::size_t{byte_at(data, at)} << 8 | byte_at(data, at + 1);
}

bool are_quantization_tables(ConstByteSpan body) {
  while (!body.empty()) {
    const std::uint8_t precision = byte_at(body, 0) >> 4;
    const std::size_t table = byte_at(body, 0) & 0x0F;
    const std::size_t bytes = 1 + 64 * (std::size_t{precision} + 1);
    if (precision > 1 || table >= kMaxTables || body.size() < bytes) return false;
    body = body.subspan(bytes);
  }
  return true;
}

bool are_huffman_tables(ConstByteSpan body) {
  while (!body.empty()) {
    if (body.size() < 1 + kCodeLengths) return false;
    const std::uint8_t kind = byte_at(body, 0) >> 4;
    const std::size_t table = byte_at(body, 0) & 0x0F;
    std::size_t num_symbols = 0;
    for (std::size_t i = 1; i <= kCodeLengths; ++i) num_symbols += byte_at(body, i);
    body = body.subspan(1 + kCodeLengths);
    if (kind > 1 || table >= kMaxTables || num_symbols > kMaxSymbols) return false;
    if (body.size() < num_symbols) return false;
    body = body.subspan(num_symbols);
  }
  return true;
}

// Collects what the segments say; each function is false for what is not as it should be.
class HeaderReader {
 public:
  explicit HeaderReader(std::vector<std::byte>& copy) : copy_(copy) {}

  void copy(ConstByteSpan segment) { copy_.insert(copy_.end(), segment.begin(), segment.end()); }

  bool read_frame(ConstByteSpan segment) {
    const ConstByteSpan body = segment.subspan(4);
    if (header_.num_components != 0 || body.size() < 6) return false;
    const std::size_t count = byte_at(body, 5);
    if ((count != 1 && count != 3 && count != 4) || body.size() != 6 + 3 * count) return false;
    header_.num_components = static_cast<int>(count);
    header_.height = static_cast<std::int64_t>(word_at(body, 1));
    header_.width = static_cast<std::int64_t>(word_at(body, 3));
    header_.size_offset = copy_.size() + 5;
    copy(segment);
    const std::int64_t longest = std::max(header_.width, header_.height);
    return byte_at(body, 0) == 8 && std::min(header_.width, header_.height) > 0 &&
           longest <= kMaxSide && read_components(body.subspan(6));
  }

  bool read_interval(ConstByteSpan body) {
    if (body.size() != 2) return false;
    header_.restart_interval = static_cast<std::int64_t>(word_at(body, 0));
    return true;
  }

  // Must name all components in the frame's order.
  bool read_scan(ConstByteSpan segment) {
    const ConstByteSpan body = segment.subspan(4);
    const auto count = static_cast<std::size_t>(header_.num_components);
    if (count == 0 || header_.restart_interval == 0 || body.size() != 4 + 2 * count ||
        byte_at(body, 0) != count) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (byte_at(body, 1 + 2 * i) != ids_[i]) return false;
    }
    const auto interval = static_cast<unsigned>(header_.restart_interval);
    const std::array<std::byte, 6> restarts = {std::byte{0xFF},
                                               std::byte{kDri},
                                               std::byte{0},
                                               std::byte{4},
                                               static_cast<std::byte>(interval >> 8),
                                               static_cast<std::byte>(interval & 0xFF)};
    copy(restarts);
    copy(segment);
    return true;
  }

  SpliceHeader& header() { return header_; }

 private:
  bool read_components(ConstByteSpan components) {
    const auto count = static_cast<std::size_t>(header_.num_components);
    int max_h = 0, max_v = 0, num_blocks = 0;
    for (std::size_t i = 0; i < count; ++i) {
      ids_[i] = byte_at(components, 3 * i);
      if (std::find(ids_.begin(), ids_.begin() + i, ids_[i]) != ids_.begin() + i) return false;
      const int h = byte_at(components, 3 * i + 1) >> 4;
      const int v = byte_at(components, 3 * i + 1) & 0x0F;
      if (std::min(h, v) < 1 || std::max(h, v) > kMaxFactor) return false;
      max_h = std::max(max_h, h);
      max_v = std::max(max_v, v);
      num_blocks += h * v;
    }
    const bool is_alone = count == 1;
    header_.mcu_width = is_alone ? kBlock : max_h * kBlock;
    header_.mcu_height = is_alone ? kBlock : max_v * kBlock;
    return is_alone || num_blocks <= kMaxBlocksInMcu;
  }

  SpliceHeader header_;
  std::array<std::uint8_t, kMaxComponents> ids_ = {};
  std::vector<std::byte>& copy_;
};

}  // namespace

std::optional<SpliceHeader> read_splice_header(ConstByteSpan data, std::vector<std::byte>& copy) {
  copy.clear();
  if (data.size() < 2 || word_at(data, 0) != (0xFF00 | kSoi)) return std::nullopt;
  HeaderReader reader(copy);
  reader.copy(data.first(2));
  for (std::size_t at = 2;;) {
    while (at + 1 < data.size() && word_at(data, at) == 0xFFFF) ++at;  // fill bytes
    if (data.size() - at < 4 || byte_at(data, at) != 0xFF) return std::nullopt;
    const std::uint8_t marker = byte_at(data, at + 1);
    const std::size_t bytes = 2 + word_at(data, at + 2);
    if (bytes < 4 || bytes > data.size() - at) return std::nullopt;
    const ConstByteSpan segment = data.subspan(at, bytes);
    const ConstByteSpan body = segment.subspan(4);
    at += bytes;
    if (marker == kSos) {
      if (!reader.read_scan(segment)) return std::nullopt;
      reader.header().coded_offset = at;
      return reader.header();
    }
    bool is_fine = true;
    if (marker == kSof0 || marker == kSof1) {
      is_fine = reader.read_frame(segment);
    } else if (marker == kDri) {
      is_fine = reader.read_interval(body);
    } else if (marker == kDqt || marker == kDht) {
      is_fine = marker == kDqt ? are_quantization_tables(body) : are_huffman_tables(body);
      reader.copy(segment);
    } else if (marker == kApp0 || marker == kApp14) {
      reader.copy(segment);  // say which colours the components are
    } else {
      is_fine = marker == kCom || (marker > kApp0 && marker <= kApp15);
    }
    if (!is_fine) return std::nullopt;
  }
}

}  // namespace dts
