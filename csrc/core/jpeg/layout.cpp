// SPDX-License-Identifier: Apache-2.0
#include "jpeg/layout.h"

#include <cstring>

namespace dts {
namespace {

constexpr std::uint8_t kFirstSegment = 0xC0;  // below it, no marker has a length
constexpr std::uint8_t kRst0 = 0xD0, kRst7 = 0xD7, kEoi = 0xD9;
constexpr std::size_t kSoiBytes = 2;

bool has_length(std::uint8_t marker) {
  return marker >= kFirstSegment && (marker < kRst0 || marker > kEoi);
}

}  // namespace

bool is_plain_header(ConstByteSpan header) {
  const auto byte_at = [header](std::size_t at) {
    return std::to_integer<std::uint8_t>(header[at]);
  };
  const std::size_t size = header.size();
  std::size_t at = kSoiBytes;
  while (at < size) {
    if (byte_at(at) != 0xFF) return false;
    while (at + 1 < size && byte_at(at + 1) == 0xFF) ++at;  // fill bytes
    if (size - at < 4 || !has_length(byte_at(at + 1))) return false;
    const std::size_t length = std::size_t{byte_at(at + 2)} << 8 | byte_at(at + 3);
    if (length < 2) return false;
    at += 2 + length;
  }
  return at == size;
}

ScanEnd find_scan_end(ConstByteSpan coded) {
  const std::byte* const end = coded.data() + coded.size();
  const std::byte* at = coded.data();
  while (at < end) {
    at = static_cast<const std::byte*>(std::memchr(at, 0xFF, static_cast<std::size_t>(end - at)));
    if (at == nullptr) return ScanEnd::kNone;
    while (at < end && *at == std::byte{0xFF}) ++at;  // more than one: fill bytes
    if (at == end) return ScanEnd::kNone;
    const auto marker = std::to_integer<std::uint8_t>(*at++);
    if (marker == kEoi) return ScanEnd::kEoi;
    if (marker != 0 && (marker < kRst0 || marker > kRst7)) return ScanEnd::kMarker;
  }
  return ScanEnd::kNone;
}

}  // namespace dts
