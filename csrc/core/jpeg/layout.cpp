// SPDX-License-Identifier: Apache-2.0
#include "jpeg/layout.h"

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

}  // namespace dts
