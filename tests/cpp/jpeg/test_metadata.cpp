// SPDX-License-Identifier: Apache-2.0
#include "jpeg/metadata.h"

#include <algorithm>
#include <string>

#include "jpeg/encoder.h"

namespace {

using dts::ConstByteSpan;
using dts::MetadataChoice;
using dts::MetadataSegment;
using dts::testing::Bytes;
using dts::testing::next_random;
using dts::testing::odd_image;
using namespace std::string_literals;

Bytes bytes_of(const std::string& text) {
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

std::string text_of(ConstByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string segment(char marker, const std::string& content) {
  const std::size_t length = content.size() + 2;
  return "\xFF"s + marker + static_cast<char>(length >> 8) + static_cast<char>(length & 255) +
         content;
}

std::string listed(const Bytes& data, std::size_t* end) {
  std::vector<MetadataSegment> segments;
  *end = dts::list_metadata(data, &segments);
  std::string text;
  for (const MetadataSegment& found : segments) {
    text += std::to_string(found.marker) + ":" + text_of(found.content) + " ";
  }
  return text;
}

// EXIF with a directory of these entries, each of 12 bytes.
std::string exif(const std::string& order, const std::string& count, const std::string& entries) {
  const std::string head = order == "II" ? "II*\0\x08\0\0\0"s : "MM\0*\0\0\0\x08"s;
  return "Exif\0\0"s + head + count + entries;
}

const std::string kXmp = "http://ns.adobe.com/xap/1.0/\0"s;

}  // namespace

TEST_CASE("APPn and COM of the header are listed, and those between scans") {
  const std::string coded = "\x12\xFF\0\xFF\xD0\x34\xFF\xD1"s;
  const std::string start = "\xFF\xD8"s + segment('\xE0', "JFIF") + segment('\xFE', "hello") +
                            segment('\xDB', "table") + "\xFF\xFF\xFF"s + segment('\xEF', "last") +
                            segment('\xDA', "scan") + coded;
  std::size_t end = 0;
  CHECK(listed(bytes_of(start + "\xFF\xD9"s), &end) == "224:JFIF 254:hello 239:last ");
  CHECK(end == start.size() + 2);
  const std::string more = start + segment('\xFE', "between") + segment('\xDA', "scan") + coded;
  CHECK(listed(bytes_of(more + "\xFF\xFF\xD9" + segment('\xFE', "behind")), &end) ==
        "224:JFIF 254:hello 239:last 254:between ");
  CHECK(end == more.size() + 3);
}

TEST_CASE("data that ends early is listed as far as it goes") {
  std::size_t end = 0;
  for (const std::string& text : {""s, "\xFF"s, "\xFF\xD8"s, "\xFF\xD8\xFF"s, "\xFF\xD8\xFF\xE0"s,
                                  "\xFF\xD8\xFF\xE0\0\1"s, "\xFF\xD8\xFF\xE0\0\5ab"s}) {
    const Bytes data = bytes_of(text);
    CHECK(listed(data, &end) == "");
    CHECK(end == data.size());
  }
  const Bytes& second = odd_image("tail/second_jpeg_after_eoi.jpg");
  listed(second, &end);
  CHECK(end < second.size());
  CHECK(second[end] == std::byte{0xFF});
  CHECK(second[end + 1] == std::byte{0xD8});
}

TEST_CASE("the orientation is read in both byte orders and three types") {
  const auto of = [](const std::string& content) {
    const Bytes bytes = bytes_of(content);
    return dts::exif_orientation(bytes);
  };
  const std::string other = "\x0F\x01\2\0\1\0\0\0abcd"s;
  CHECK(of(exif("II", "\1\0"s, "\x12\1\3\0\1\0\0\0\6\0\0\0"s)) == 6);
  CHECK(of(exif("II", "\2\0"s, other + "\x12\1\3\0\1\0\0\0\x08\0\0\0"s)) == 8);
  CHECK(of(exif("MM", "\0\1"s, "\1\x12\0\3\0\0\0\1\0\3\0\0"s)) == 3);
  CHECK(of(exif("MM", "\0\1"s, "\1\x12\0\4\0\0\0\1\0\0\0\2"s)) == 2);
  CHECK(of(exif("MM", "\0\1"s, "\1\x12\0\1\0\0\0\1\5\0\0\0"s)) == 5);
  // More entries promised than there are.
  CHECK(of(exif("II", "\x09\0"s, "\x12\1\3\0\1\0\0\0\6\0\0\0"s)) == 6);
  // No such number, two of them, a type of another kind, another tag, cut off.
  CHECK(of(exif("II", "\1\0"s, "\x12\1\3\0\1\0\0\0\x09\0\0\0"s)) == 0);
  CHECK(of(exif("II", "\1\0"s, "\x12\1\3\0\1\0\0\0\0\0\0\0"s)) == 0);
  CHECK(of(exif("II", "\1\0"s, "\x12\1\3\0\2\0\0\0\6\0\0\0"s)) == 0);
  CHECK(of(exif("II", "\1\0"s, "\x12\1\5\0\1\0\0\0\6\0\0\0"s)) == 0);
  CHECK(of(exif("II", "\1\0"s, other)) == 0);
  CHECK(of(exif("II", "\1\0"s, "\x12\1\3\0\1\0\0\0\6\0\0"s)) == 0);
  CHECK(of("Exif\0\0II*\0\xFF\xFF\xFF\xFF"s) == 0);
  CHECK(of("Exif\0\0XX*\0\x08\0\0\0"s) == 0);
  CHECK(of("Exif\0\0II+\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\6\0\0\0"s) == 0);
  CHECK(of("Exif\0\0"s) == 0);
  CHECK(of("") == 0);
}

TEST_CASE("the orientation of an XMP packet") {
  const auto of = [](const std::string& content) {
    const Bytes bytes = bytes_of(content);
    return dts::xmp_orientation(bytes);
  };
  CHECK(of(kXmp + "<x tiff:Orientation=\"6\">") == 6);
  CHECK(of(kXmp + "<tiff:Orientation>3</tiff:Orientation>") == 3);
  CHECK(of(kXmp + "tiff:Orientation tiff:Orientation=\"2\"") == 2);
  CHECK(of(kXmp + "<x tiff:Orientation=\"9\">") == 0);
  CHECK(of(kXmp + "<x tiff:Orientation=\"") == 0);
  CHECK(of(kXmp + "<x tiff:Orientation") == 0);
  CHECK(of("tiff:Orientation=\"6\"") == 0);
}

TEST_CASE("a minimal EXIF segment holds its orientation") {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CHECK(dts::exif_orientation(dts::make_orientation_exif(orientation)) == orientation);
  }
}

TEST_CASE("what says how the picture is shown is kept, the rest counted") {
  const Bytes jfif = bytes_of("JFIF\0\1\1"s), adobe = bytes_of("Adobe"),
              icc = bytes_of("ICC_PROFILE\0\1\1 profile"s), flash = bytes_of("FPXR\0..."s),
              comment = bytes_of("said"),
              turned = bytes_of(exif("II", "\1\0"s, "\x12\1\3\0\1\0\0\0\6\0\0\0"s) +
                                std::string(1000, 'x')),
              xmp = bytes_of(kXmp + "<x tiff:Orientation=\"3\">"),
              untold = bytes_of("Exif\0\0II*\0\x08\0\0\0\0\0"s);
  MetadataChoice choice;
  const auto chosen = [&choice](const std::vector<MetadataSegment>& segments) {
    dts::choose_metadata(segments, &choice);
    std::string text;
    for (const MetadataSegment& kept : choice.kept) {
      text += kept.marker == 0xE1 ? "turn " + std::to_string(dts::exif_orientation(kept.content))
                                  : text_of(kept.content).substr(0, 4);
      text += " ";
    }
    return text;
  };
  CHECK(chosen({}) == "");
  CHECK(chosen({{0xE0, jfif}, {0xE2, icc}, {0xE2, icc}, {0xEE, adobe}}) == "JFIF ICC_ ICC_ Adob ");
  CHECK(choice.num_dropped == 0);
  CHECK(choice.dropped_bytes == 0);
  CHECK(chosen({{0xFE, comment}, {0xE0, jfif}, {0xE2, flash}}) == "JFIF ");
  CHECK(choice.num_dropped == 2);
  CHECK(choice.dropped_bytes == 4 + 4 + 4 + 8);
  CHECK(chosen({{0xE0, jfif}, {0xE1, turned}, {0xE1, xmp}}) == "JFIF turn 6 ");
  CHECK(choice.num_dropped == 2);
  CHECK(choice.dropped_bytes ==
        static_cast<std::int64_t>(turned.size() - choice.exif.size() + 4 + xmp.size()));
  // EXIF without the tag leaves it to XMP.
  CHECK(chosen({{0xE1, xmp}, {0xE1, untold}}) == "turn 3 ");
  CHECK(chosen({{0xE1, untold}}) == "");
  CHECK(choice.num_dropped == 1);
  // Already minimal.
  const dts::OrientationExif minimal = dts::make_orientation_exif(5);
  CHECK(chosen({{0xE1, minimal}}) == "turn 5 ");
  CHECK(choice.num_dropped == 0);
  CHECK(choice.kept[0].content.data() == minimal.data());
}

TEST_CASE("any bytes are read without leaving them") {
  std::uint64_t state = 3;
  const Bytes sound = bytes_of(exif("MM", "\0\2"s, "\1\x12\0\3\0\0\0\1\0\3\0\0"s));
  for (int round = 0; round < 3000; ++round) {
    Bytes data(sound.begin(),
               sound.begin() + next_random(state, static_cast<unsigned>(sound.size())) + 1);
    data.shrink_to_fit();
    data[next_random(state, static_cast<unsigned>(data.size()))] =
        static_cast<std::byte>(next_random(state, 256));
    const int found = dts::exif_orientation(data);
    CHECK((found >= 0 && found <= 8));
    std::vector<MetadataSegment> segments;
    CHECK(dts::list_metadata(data, &segments) <= data.size());
  }
}
