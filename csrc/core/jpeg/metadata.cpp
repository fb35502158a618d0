// SPDX-License-Identifier: Apache-2.0
#include "jpeg/metadata.h"

#include <algorithm>
#include <string_view>

namespace dts {
namespace {

constexpr std::uint8_t kApp0 = 0xE0, kApp1 = 0xE1, kApp2 = 0xE2, kApp14 = 0xEE, kApp15 = 0xEF;
constexpr std::uint8_t kCom = 0xFE;
constexpr std::uint8_t kRst0 = 0xD0, kRst7 = 0xD7, kSoi = 0xD8, kEoi = 0xD9, kSos = 0xDA;
constexpr std::uint8_t kFirstSegment = 0xC0;  // below it, no marker has a length

constexpr std::string_view kExifName("Exif\0\0", 6);
constexpr std::string_view kXmpName("http://ns.adobe.com/xap/1.0/\0", 29);
constexpr std::string_view kIccName("ICC_PROFILE\0", 12);

// TIFF, as EXIF uses it.
constexpr std::size_t kTiffHeaderBytes = 8, kEntryBytes = 12;
constexpr std::uint32_t kTiffMagic = 42, kOrientationTag = 0x0112;
constexpr std::uint32_t kByteType = 1, kShortType = 3, kLongType = 4;
constexpr int kMaxOrientation = 8;

std::string_view text_of(ConstByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Big- or little-endian numbers of a TIFF; the caller checks bounds.
struct TiffReader {
  ConstByteSpan tiff;
  bool is_big = false;

  std::uint32_t number(std::size_t at, std::size_t num_bytes) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < num_bytes; ++i) {
      const std::size_t place = is_big ? i : num_bytes - 1 - i;
      value = value << 8 | std::to_integer<std::uint32_t>(tiff[at + place]);
    }
    return value;
  }
};

bool is_orientation(std::uint32_t value) { return value >= 1 && value <= kMaxOrientation; }

// The entry at `at`, 0 when it is another tag or says nothing useful.
int orientation_entry(const TiffReader& reader, std::size_t at) {
  if (reader.number(at, 2) != kOrientationTag || reader.number(at + 4, 4) != 1) return 0;
  const std::uint32_t type = reader.number(at + 2, 2);
  if (type != kByteType && type != kShortType && type != kLongType) return 0;
  const std::uint32_t value = reader.number(at + 8, type == kByteType    ? 1
                                                    : type == kShortType ? 2
                                                                         : 4);
  return is_orientation(value) ? static_cast<int>(value) : 0;
}

bool is_metadata(std::uint8_t marker) {
  return (marker >= kApp0 && marker <= kApp15) || marker == kCom;
}

bool stands_alone(std::uint8_t marker) {
  return marker < kFirstSegment || (marker >= kRst0 && marker <= kRst7) || marker == kSoi;
}

// The place of the next marker's 0xFF from `at` on that is neither stuffing nor RSTn.
std::size_t skip_coded(ConstByteSpan data, std::size_t at) {
  for (; at + 1 < data.size(); ++at) {
    if (data[at] != std::byte{0xFF}) continue;
    const auto next = std::to_integer<std::uint8_t>(data[at + 1]);
    if (next != 0 && next != 0xFF && (next < kRst0 || next > kRst7)) return at;
  }
  return data.size();
}

}  // namespace

std::size_t list_metadata(ConstByteSpan data, std::vector<MetadataSegment>* segments) {
  segments->clear();
  std::size_t at = 2;
  while (at + 1 < data.size()) {
    // Fill bytes, and whatever stands between segments.
    const auto marker = std::to_integer<std::uint8_t>(data[at + 1]);
    if (data[at] != std::byte{0xFF} || marker == 0xFF) {
      ++at;
      continue;
    }
    if (marker == kEoi) return at + 2;
    if (stands_alone(marker)) {
      at += 2;
      continue;
    }
    if (data.size() - at < kSegmentHeadBytes) break;
    const std::size_t length = std::to_integer<std::size_t>(data[at + 2]) << 8 |
                               std::to_integer<std::size_t>(data[at + 3]);
    if (length < 2 || length > data.size() - at - 2) break;
    if (is_metadata(marker)) {
      segments->push_back({marker, data.subspan(at + kSegmentHeadBytes, length - 2)});
    }
    at += 2 + length;
    if (marker == kSos) at = skip_coded(data, at);
  }
  return data.size();
}

int exif_orientation(ConstByteSpan content) {
  if (!text_of(content).starts_with(kExifName)) return 0;
  TiffReader reader{content.subspan(kExifName.size())};
  const ConstByteSpan tiff = reader.tiff;
  if (tiff.size() < kTiffHeaderBytes) return 0;
  const std::string_view order = text_of(tiff.first(2));
  if (order != "II" && order != "MM") return 0;
  reader.is_big = order == "MM";
  if (reader.number(2, 2) != kTiffMagic) return 0;
  const std::size_t directory = reader.number(4, 4);
  if (directory > tiff.size() || tiff.size() - directory < 2) return 0;
  const std::size_t num_entries = reader.number(directory, 2);
  int orientation = 0;
  // A directory may promise more entries than there are; the ones that are there count.
  std::size_t at = directory + 2;
  for (std::size_t i = 0; i < num_entries && tiff.size() - at >= kEntryBytes; ++i) {
    if (const int found = orientation_entry(reader, at)) orientation = found;
    at += kEntryBytes;
  }
  return orientation;
}

int xmp_orientation(ConstByteSpan content) {
  const std::string_view text = text_of(content);
  if (!text.starts_with(kXmpName)) return 0;
  constexpr std::string_view kTag = "tiff:Orientation";
  for (std::size_t at = text.find(kTag); at != text.npos; at = text.find(kTag, at)) {
    at += kTag.size();
    std::string_view value = text.substr(at);
    if (value.starts_with("=\"")) {
      value.remove_prefix(2);
    } else if (value.starts_with(">")) {
      value.remove_prefix(1);
    } else {
      continue;
    }
    if (value.empty() || value[0] < '0' || value[0] > '9') continue;
    const auto number = static_cast<std::uint32_t>(value[0] - '0');
    return is_orientation(number) ? static_cast<int>(number) : 0;
  }
  return 0;
}

OrientationExif make_orientation_exif(int orientation) {
  constexpr std::uint8_t kTemplate[] = {
      'E',  'x',  'i',        'f', 0, 0,        // name
      'I',  'I',  42,         0,   8, 0, 0, 0,  // little-endian TIFF, its directory
      1,    0,                                  // one entry:
      0x12, 0x01, kShortType, 0,   1, 0, 0, 0,  // orientation, a number of 16 bits
      0,    0,    0,          0,                // its value
      0,    0,    0,          0};               // no further directory
  static_assert(sizeof kTemplate == std::tuple_size_v<OrientationExif>);
  constexpr std::size_t kValueAt = 24;
  OrientationExif exif;
  std::transform(std::begin(kTemplate), std::end(kTemplate), exif.begin(),
                 [](std::uint8_t value) { return std::byte{value}; });
  exif[kValueAt] = static_cast<std::byte>(orientation);
  return exif;
}

void choose_metadata(const std::vector<MetadataSegment>& segments, MetadataChoice* choice) {
  choice->kept.clear();
  choice->num_dropped = choice->dropped_bytes = 0;
  int from_exif = 0, from_xmp = 0;
  for (const MetadataSegment& segment : segments) {
    if (segment.marker != kApp1) continue;
    if (from_exif == 0) from_exif = exif_orientation(segment.content);
    if (const int found = xmp_orientation(segment.content)) from_xmp = found;
  }
  const int orientation = from_exif != 0 ? from_exif : from_xmp;
  bool is_written = orientation == 0;
  for (const MetadataSegment& segment : segments) {
    const std::string_view text = text_of(segment.content);
    const bool is_exif = segment.marker == kApp1 && text.starts_with(kExifName);
    const bool is_xmp = segment.marker == kApp1 && text.starts_with(kXmpName);
    if (segment.marker == kApp0 || segment.marker == kApp14 ||
        (segment.marker == kApp2 && text.starts_with(kIccName))) {
      choice->kept.push_back(segment);
      continue;
    }
    auto lost_bytes = static_cast<std::int64_t>(kSegmentHeadBytes + segment.content.size());
    if (!is_written && (is_exif || is_xmp)) {
      is_written = true;
      // Already as short as ours.
      if (is_exif && exif_orientation(segment.content) == orientation &&
          segment.content.size() <= choice->exif.size()) {
        choice->kept.push_back(segment);
        continue;
      }
      choice->exif = make_orientation_exif(orientation);
      choice->kept.push_back({kApp1, choice->exif});
      lost_bytes -= static_cast<std::int64_t>(kSegmentHeadBytes + choice->exif.size());
    }
    ++choice->num_dropped;
    choice->dropped_bytes += std::max<std::int64_t>(lost_bytes, 0);
  }
}

}  // namespace dts
