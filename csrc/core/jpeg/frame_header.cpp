// SPDX-License-Identifier: Apache-2.0
#include "jpeg/frame_header.h"

#include <algorithm>
#include <cstring>

#include "jpeg/zigzag.h"

namespace dts {
namespace {

constexpr std::uint8_t kSoi = 0xD8, kSof0 = 0xC0, kSof1 = 0xC1, kDht = 0xC4, kSos = 0xDA;
constexpr std::uint8_t kDqt = 0xDB, kDri = 0xDD, kApp0 = 0xE0, kApp14 = 0xEE, kApp15 = 0xEF;
constexpr std::uint8_t kCom = 0xFE;
constexpr std::int64_t kMaxSide = 65500;  // libjpeg's limit
constexpr int kMaxFactor = 4;             // of a component's sampling
constexpr std::size_t kMaxTables = 4;     // of each kind
constexpr std::size_t kCodeLengths = 16;
constexpr std::size_t kJfifBytes = 14, kAdobeBytes = 12;  // what libjpeg asks for at least
constexpr std::array<std::uint8_t, 3> kRgbIds = {'R', 'G', 'B'};

const std::uint8_t* bytes_of(ConstByteSpan data) {
  return reinterpret_cast<const std::uint8_t*>(data.data());
}

std::size_t word_at(const std::uint8_t* at) { return std::size_t{at[0]} << 8 | at[1]; }

// Collects what the segments say; each function is false for what is not as it should be.
class HeaderReader {
 public:
  explicit HeaderReader(FrameHeader* header) : header_(*header) {}

  bool read(std::uint8_t marker, ConstByteSpan body) {
    switch (marker) {
      case kSof0:
      case kSof1:
        return read_frame(body);
      case kDht:
        return read_huffman_tables(body);
      case kDqt:
        return read_quantization_tables(body);
      case kDri:
        return read_interval(body);
      case kApp0:
        has_jfif_ |= body.size() >= kJfifBytes && std::memcmp(body.data(), "JFIF", 5) == 0;
        return true;
      case kApp14:
        read_adobe(body);
        return true;
      default:
        return marker == kCom || (marker > kApp0 && marker <= kApp15);
    }
  }

  // Must name all components in the frame's order and read all coefficients at once.
  bool read_scan(ConstByteSpan body) {
    const auto count = static_cast<std::size_t>(header_.geometry.num_components);
    const std::uint8_t* const at = bytes_of(body);
    if (count == 0 || body.size() != 4 + 2 * count || at[0] != count || has_other_colours()) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t dc = at[2 + 2 * i] >> 4, ac = at[2 + 2 * i] & 0x0F;
      if (at[1 + 2 * i] != ids_[i] || dc >= kMaxTables || ac >= kMaxTables) return false;
      header_.dc[i] = dc_[dc];
      header_.ac[i] = ac_[ac];
      const Quantization& table = quantization_[tables_[i]];
      if (dc_[dc].counts == nullptr || ac_[ac].counts == nullptr || table.values == nullptr) {
        return false;
      }
      for (std::size_t k = 0; k < kBlockCoefficients; ++k) {
        header_.quantization[i][kNaturalOrder[k]] = static_cast<std::uint16_t>(
            table.is_wide ? word_at(table.values + 2 * k) : table.values[k]);
      }
    }
    const std::uint8_t* const range = at + 1 + 2 * count;
    return range[0] == 0 && range[1] == kBlockCoefficients - 1 && range[2] == 0;
  }

 private:
  struct Quantization {
    const std::uint8_t* values = nullptr;  // in zigzag order
    bool is_wide = false;                  // two bytes each
  };

  bool read_frame(ConstByteSpan body) {
    JpegGeometry& geometry = header_.geometry;
    const std::uint8_t* const at = bytes_of(body);
    if (geometry.num_components != 0 || body.size() < 6) return false;
    const std::size_t count = at[5];
    if ((count != 1 && count != 3) || body.size() != 6 + 3 * count || at[0] != 8) return false;
    geometry.num_components = static_cast<int>(count);
    geometry.height = static_cast<std::int64_t>(word_at(at + 1));
    geometry.width = static_cast<std::int64_t>(word_at(at + 3));
    if (std::min(geometry.width, geometry.height) < 1 ||
        std::max(geometry.width, geometry.height) > kMaxSide) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint8_t* const component = at + 6 + 3 * i;
      const int h = component[1] >> 4, v = component[1] & 0x0F;
      ids_[i] = component[0];
      tables_[i] = component[2];
      if (std::find(ids_.begin(), ids_.begin() + i, ids_[i]) != ids_.begin() + i ||
          tables_[i] >= kMaxTables || std::min(h, v) < 1 || std::max(h, v) > kMaxFactor) {
        return false;
      }
      // A component alone has MCUs of one block whatever its factors.
      if (count == 1) continue;
      if (h > (i == 0 ? 2 : 1) || v > (i == 0 ? 2 : 1)) return false;
      geometry.horizontal[i] = h;
      geometry.vertical[i] = v;
    }
    return true;
  }

  bool read_huffman_tables(ConstByteSpan body) {
    while (!body.empty()) {
      if (body.size() < 1 + kCodeLengths) return false;
      const std::uint8_t* const at = bytes_of(body);
      const std::uint8_t kind = at[0] >> 4;
      const std::size_t table = at[0] & 0x0F;
      HuffmanSpec spec;
      spec.counts = at + 1;
      spec.symbols = at + 1 + kCodeLengths;
      for (std::size_t i = 0; i < kCodeLengths; ++i) spec.num_symbols += spec.counts[i];
      body = body.subspan(1 + kCodeLengths);
      if (kind > 1 || table >= kMaxTables || spec.num_symbols > kMaxHuffmanSymbols ||
          body.size() < static_cast<std::size_t>(spec.num_symbols)) {
        return false;
      }
      body = body.subspan(static_cast<std::size_t>(spec.num_symbols));
      (kind == 0 ? dc_ : ac_)[table] = spec;
    }
    return true;
  }

  bool read_quantization_tables(ConstByteSpan body) {
    while (!body.empty()) {
      const std::uint8_t* const at = bytes_of(body);
      const int precision = at[0] >> 4;
      const std::size_t table = at[0] & 0x0F;
      const std::size_t bytes = 1 + 64 * (static_cast<std::size_t>(precision) + 1);
      if (precision > 1 || table >= kMaxTables || body.size() < bytes) return false;
      quantization_[table] = {at + 1, precision == 1};
      body = body.subspan(bytes);
    }
    return true;
  }

  bool read_interval(ConstByteSpan body) {
    if (body.size() != 2) return false;
    header_.restart_interval = static_cast<std::int64_t>(word_at(bytes_of(body)));
    return true;
  }

  void read_adobe(ConstByteSpan body) {
    if (body.size() < kAdobeBytes || std::memcmp(body.data(), "Adobe", 5) != 0) return;
    has_adobe_ = true;
    adobe_transform_ = bytes_of(body)[11];
  }

  // Three components that are not YCbCr, by libjpeg's rules.
  bool has_other_colours() const {
    if (header_.geometry.num_components == 1 || has_jfif_) return false;
    return has_adobe_ ? adobe_transform_ != 1 : ids_ == kRgbIds;
  }

  FrameHeader& header_;
  std::array<std::uint8_t, kMaxComponents> ids_ = {}, tables_ = {};
  std::array<HuffmanSpec, kMaxTables> dc_, ac_;
  std::array<Quantization, kMaxTables> quantization_;
  bool has_jfif_ = false, has_adobe_ = false;
  std::uint8_t adobe_transform_ = 0;
};

}  // namespace

bool read_frame_header(ConstByteSpan data, FrameHeader* header) {
  *header = {};
  const std::uint8_t* const bytes = bytes_of(data);
  if (data.size() < 2 || bytes[0] != 0xFF || bytes[1] != kSoi) return false;
  HeaderReader reader(header);
  for (std::size_t at = 2;;) {
    while (at + 1 < data.size() && bytes[at] == 0xFF && bytes[at + 1] == 0xFF) ++at;  // fill bytes
    if (data.size() - at < 4 || bytes[at] != 0xFF) return false;
    const std::uint8_t marker = bytes[at + 1];
    const std::size_t size = 2 + word_at(bytes + at + 2);
    if (size < 4 || size > data.size() - at) return false;
    const ConstByteSpan body = data.subspan(at + 4, size - 4);
    at += size;
    if (marker != kSos) {
      if (!reader.read(marker, body)) return false;
      continue;
    }
    header->coded_offset = at;
    return reader.read_scan(body);
  }
}

}  // namespace dts
