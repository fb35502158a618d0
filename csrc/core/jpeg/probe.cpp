// SPDX-License-Identifier: Apache-2.0
#include "jpeg/probe.h"

#include <algorithm>
#include <cstring>

namespace dts {
namespace {

constexpr std::uint8_t kTem = 0x01, kSof0 = 0xC0, kDht = 0xC4, kJpg = 0xC8, kDac = 0xCC;
constexpr std::uint8_t kSof15 = 0xCF, kRst0 = 0xD0, kRst7 = 0xD7, kSoi = 0xD8, kEoi = 0xD9;
constexpr std::uint8_t kSos = 0xDA;
constexpr std::uint8_t kFirstKnown = 0xC0;  // below it, TEM apart, all markers are reserved
constexpr std::size_t kSofBytes = 10;       // marker to component count

bool is_frame(std::uint8_t marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

// Means nothing in JPEG: not a segment, whatever follows it.
bool is_reserved(std::uint8_t marker) { return marker < kFirstKnown && marker != kTem; }

// No length follows.
bool stands_alone(std::uint8_t marker) {
  return marker == kTem || (marker >= kRst0 && marker <= kEoi);
}

// Walks the markers of `data`. As in libjpeg, bytes between segments that are no
// marker are passed over. Offsets may end up beyond the data: the next step then
// finds the end, and `needed` says how far it would have had to read.
class MarkerWalk {
 public:
  explicit MarkerWalk(ConstByteSpan data) : data_(data) {}

  // Steps to the next marker; false at the end of the data.
  bool next_marker() {
    for (;;) {
      if (position_ >= data_.size()) return fall_short(position_ + 2);
      const void* found = std::memchr(data_.data() + position_, 0xFF, data_.size() - position_);
      if (found == nullptr) return fall_short(data_.size() + 2);
      std::size_t at =
          static_cast<std::size_t>(static_cast<const std::byte*>(found) - data_.data());
      while (at + 1 < data_.size() && byte_at(at + 1) == 0xFF) ++at;  // fill bytes
      if (at + 1 >= data_.size()) return fall_short(at + 2);
      position_ = at + 2;
      marker_ = byte_at(at + 1);
      if (marker_ != 0) return true;  // 0: a stuffed 0xFF of coded data
    }
  }

  // Passes over the segment of the present marker; false when its length is cut off.
  // A length below 2 counts as 2, as in libjpeg.
  bool skip_segment() {
    if (stands_alone(marker_)) return true;
    if (position_ + 2 > data_.size()) return fall_short(position_ + 2);
    position_ += std::max<std::size_t>(word_at(position_), 2);
    return true;
  }

  std::uint8_t marker() const { return marker_; }
  std::size_t marker_offset() const { return position_ - 2; }
  std::size_t needed() const { return needed_; }
  bool fall_short(std::size_t needed) {
    needed_ = needed;
    return false;
  }

  std::uint8_t byte_at(std::size_t offset) const {
    return std::to_integer<std::uint8_t>(data_[offset]);
  }
  std::uint16_t word_at(std::size_t offset) const {
    return static_cast<std::uint16_t>(byte_at(offset) << 8 | byte_at(offset + 1));
  }

 private:
  ConstByteSpan data_;
  std::size_t position_ = 0;
  std::size_t needed_ = 0;
  std::uint8_t marker_ = 0;
};

// SOI and the first byte of a marker: what PIL asks of a JPEG too.
bool starts_as_jpeg(ConstByteSpan data) {
  constexpr std::uint8_t kStart[] = {0xFF, kSoi, 0xFF};
  for (std::size_t i = 0; i < std::min(data.size(), sizeof kStart); ++i) {
    if (std::to_integer<std::uint8_t>(data[i]) != kStart[i]) return false;
  }
  return true;
}

// Offset of the first SOS from the present segment on; 0 when there is none.
std::size_t find_scan(MarkerWalk walk) {
  while (walk.skip_segment() && walk.next_marker()) {
    if (walk.marker() == kSos) return walk.marker_offset();
    if (walk.marker() == kEoi || walk.marker() == kSoi) return 0;
  }
  return 0;
}

// The walk stands at a frame marker. Empty: cut off (then `walk` knows how many bytes
// are needed) or no frame header.
std::optional<JpegInfo> read_frame(MarkerWalk& walk, std::size_t data_size) {
  const std::size_t at = walk.marker_offset();
  if (at + kSofBytes > data_size) {
    walk.fall_short(at + kSofBytes);
    return std::nullopt;
  }
  JpegInfo info;
  info.sof = walk.marker();
  info.precision = walk.byte_at(at + 4);
  info.height = walk.word_at(at + 5);
  info.width = walk.word_at(at + 7);
  info.num_components = walk.byte_at(at + 9);
  const std::size_t length = walk.word_at(at + 2);
  if (info.num_components == 0 || length != 8 + 3 * std::size_t{info.num_components}) {
    walk.fall_short(0);
    return std::nullopt;
  }
  if (at + 2 + length > data_size) {
    walk.fall_short(at + 2 + length);
    return std::nullopt;
  }
  return info;
}

}  // namespace

std::optional<JpegInfo> probe_jpeg(ConstByteSpan data, std::uint64_t* needed_bytes) {
  std::uint64_t unused = 0;
  std::uint64_t& needed = needed_bytes != nullptr ? *needed_bytes : unused;
  needed = 0;
  if (!starts_as_jpeg(data)) return std::nullopt;

  MarkerWalk walk(data);
  bool is_first = true;
  while (walk.next_marker()) {
    if (is_frame(walk.marker())) {
      std::optional<JpegInfo> info = read_frame(walk, data.size());
      if (info) {
        info->scan_start = find_scan(walk);
      } else {
        needed = walk.needed();
      }
      return info;
    }
    // A second SOI, an end, coded data or an unknown marker before any frame: libjpeg
    // refuses these too.
    const bool is_second_soi = walk.marker() == kSoi && !is_first;
    if (is_second_soi || walk.marker() == kEoi || walk.marker() == kSos ||
        is_reserved(walk.marker())) {
      return std::nullopt;
    }
    is_first = false;
    if (!walk.skip_segment()) break;
  }
  needed = walk.needed();
  return std::nullopt;
}

bool is_complete_jpeg(ConstByteSpan data) {
  if (!starts_as_jpeg(data)) return false;
  MarkerWalk walk(data);
  if (!walk.next_marker()) return false;  // SOI
  bool has_scan = false;
  while (walk.next_marker()) {
    const std::uint8_t marker = walk.marker();
    if (marker == kEoi) return has_scan;
    if (marker == kSoi) return false;  // the next picture: this one has no end
    if (marker == kSos) has_scan = true;
    // Coded data needs no care of its own: next_marker passes over it and its stuffed
    // bytes, and RSTn stand alone. A reserved marker is damage inside of it.
    if (is_reserved(marker)) continue;
    if (!walk.skip_segment()) return false;
  }
  return false;
}

}  // namespace dts
