// SPDX-License-Identifier: Apache-2.0
#include "jpeg/common_kind.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace dts {
namespace {

constexpr std::uint8_t kSoi = 0xD8, kSos = 0xDA, kSof0 = 0xC0, kSof2 = 0xC2, kSof15 = 0xCF;
constexpr std::uint8_t kDht = 0xC4, kJpg = 0xC8, kDac = 0xCC, kApp0 = 0xE0, kApp14 = 0xEE;
constexpr std::uint8_t kRst0 = 0xD0, kTem = 0x01;
constexpr std::uint8_t kSampling[] = {0x11, 0x21, 0x22, 0x12, 0x41};

std::uint8_t byte_at(ConstByteSpan data, std::size_t at) {
  return std::to_integer<std::uint8_t>(data[at]);
}

bool begins_with(ConstByteSpan data, const char* text) {
  const std::size_t length = std::strlen(text);
  return data.size() >= length && std::memcmp(data.data(), text, length) == 0;
}

// What the segments say before the scan.
struct Kind {
  bool has_frame = false;
  bool is_usual_frame = false;
  bool has_usual_ids = false;
  bool is_gray = false;
  bool has_jfif = false;
  bool has_adobe = false;
  bool is_adobe_ycc = false;

  void read_frame(std::uint8_t marker, ConstByteSpan content);
  void read_application(std::uint8_t marker, ConstByteSpan content);
  bool is_common() const {
    if (!has_frame || !is_usual_frame) return false;
    if (is_gray) return true;
    return has_adobe ? is_adobe_ycc : has_jfif || has_usual_ids;
  }
};

void Kind::read_frame(std::uint8_t marker, ConstByteSpan content) {
  const bool is_second = has_frame;
  has_frame = true;
  is_usual_frame = false;
  if (is_second || (marker != kSof0 && marker != kSof2) || content.size() < 6) return;
  const std::size_t count = byte_at(content, 5);
  if (byte_at(content, 0) != 8 || content.size() != 6 + 3 * count) return;
  const auto id = [&](std::size_t i) { return byte_at(content, 6 + 3 * i); };
  const auto factors = [&](std::size_t i) { return byte_at(content, 7 + 3 * i); };
  is_gray = count == 1;
  if (is_gray) {
    is_usual_frame = factors(0) == 0x11;
    return;
  }
  if (count != 3) return;
  is_usual_frame = std::ranges::find(kSampling, factors(0)) != std::end(kSampling) &&
                   factors(1) == 0x11 && factors(2) == 0x11;
  has_usual_ids = id(0) == 1 && id(1) == 2 && id(2) == 3;
}

void Kind::read_application(std::uint8_t marker, ConstByteSpan content) {
  if (marker == kApp0 && begins_with(content, "JFIF")) has_jfif = true;
  if (marker != kApp14 || !begins_with(content, "Adobe") || content.size() < 12) return;
  has_adobe = true;
  is_adobe_ycc = byte_at(content, 11) == 1;
}

bool is_frame(std::uint8_t marker) {
  return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg && marker != kDac;
}

}  // namespace

bool is_common_jpeg(ConstByteSpan data) {
  if (data.size() < 4 || byte_at(data, 0) != 0xFF || byte_at(data, 1) != kSoi) return false;
  Kind kind;
  for (std::size_t at = 2;;) {
    while (at + 1 < data.size() && byte_at(data, at) == 0xFF && byte_at(data, at + 1) == 0xFF) ++at;
    if (at + 4 > data.size() || byte_at(data, at) != 0xFF) return false;
    const std::uint8_t marker = byte_at(data, at + 1);
    if (marker == kSos) return kind.is_common();
    // What stands alone has no place in a header.
    if (marker == kTem || (marker >= kRst0 && marker < kSos)) return false;
    const std::size_t length = static_cast<std::size_t>(byte_at(data, at + 2)) << 8 |
                               static_cast<std::size_t>(byte_at(data, at + 3));
    if (length < 2 || length > data.size() - at - 2) return false;
    const ConstByteSpan content = data.subspan(at + 4, length - 2);
    if (is_frame(marker)) kind.read_frame(marker, content);
    kind.read_application(marker, content);
    at += 2 + length;
  }
}

}  // namespace dts
