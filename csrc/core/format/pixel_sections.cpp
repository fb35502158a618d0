// SPDX-License-Identifier: Apache-2.0
#include "format/pixel_sections.h"

#include <string>
#include <string_view>

#include "base/crc32.h"
#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

constexpr std::string_view kFooterMagic = "DTSX";
constexpr std::size_t kCheckedFooterBytes = 12;

}  // namespace

PixelPlaces pixel_places(const Header& header) {
  return {header.num_samples,
          std::uint64_t{header.image_width} * header.image_height * header.num_channels};
}

SectionTable read_pixel_sections(const InputFile& file, const Header& header,
                                 ConstByteSpan header_bytes, std::uint64_t file_bytes) {
  const PixelPlaces places = pixel_places(header);
  if (file_bytes <= places.end()) return {};
  const std::string longer = "the file has " + std::to_string(file_bytes) +
                             " bytes, more than the " + std::to_string(places.end()) + " of " +
                             std::to_string(header.num_samples) + " samples, ";
  const auto fail = [&](std::uint64_t at, const std::string& problem) {
    throw CorruptFile(file.path(), static_cast<std::int64_t>(at),
                      longer + problem + " (ignore_sections=True reads the samples without it)");
  };
  const std::uint64_t least = places.table() + kSectionTableHeadBytes + kPixelFooterBytes;
  if (file_bytes < least) {
    fail(places.end(), "but less than the " + std::to_string(least) + " of the smallest footer");
  }
  const std::uint64_t footer_at = file_bytes - kPixelFooterBytes;
  std::array<std::byte, kPixelFooterBytes> footer;
  file.read_exact(footer_at, footer);
  const std::string_view magic = as_text(ConstByteSpan(footer).subspan(8, 4));
  if (magic != kFooterMagic) {
    fail(footer_at + 8, "so it must end with a footer, whose magic is " + in_quotes(magic) +
                            ", expected " + in_quotes(kFooterMagic));
  }
  const std::uint32_t crc = crc32(0, ConstByteSpan(footer).first(kCheckedFooterBytes));
  const auto expected_crc = load_le<std::uint32_t>(footer.data() + kCheckedFooterBytes);
  if (crc != expected_crc) {
    fail(footer_at + 12,
         "but the CRC-32 of its footer is " + hex32(crc) + ", expected " + hex32(expected_crc));
  }
  const auto table = load_le<std::uint64_t>(footer.data());
  if (table != places.table()) {
    fail(footer_at, "but its footer says that the section table is at " + std::to_string(table) +
                        ", expected " + std::to_string(places.table()));
  }
  return read_section_table_at(file, {table, 0, places.end(), footer_at}, header_bytes);
}

std::array<std::byte, kPixelFooterBytes> serialize_pixel_footer(std::uint64_t table_offset) {
  std::array<std::byte, kPixelFooterBytes> footer;
  store_le(footer.data(), table_offset);
  std::memcpy(footer.data() + 8, kFooterMagic.data(), kFooterMagic.size());
  store_le(footer.data() + kCheckedFooterBytes,
           crc32(0, ConstByteSpan(footer).first(kCheckedFooterBytes)));
  return footer;
}

}  // namespace dts
