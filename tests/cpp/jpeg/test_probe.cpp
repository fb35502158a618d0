// SPDX-License-Identifier: Apache-2.0
#include "jpeg/probe.h"

#include <initializer_list>
#include <string>

#include "jpeg/odd_images.h"

namespace {

using dts::testing::Bytes;
using dts::testing::odd_image;
using dts::testing::odd_images;

Bytes bytes(std::initializer_list<int> values) {
  Bytes data;
  for (const int value : values) data.push_back(static_cast<std::byte>(value));
  return data;
}

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Bytes kSoi = bytes({0xFF, 0xD8});
const Bytes kEoi = bytes({0xFF, 0xD9});
// Frame of 0x0102 rows and 0x0304 columns, one component.
const Bytes kFrame = bytes({0xFF, 0xC0, 0, 11, 8, 1, 2, 3, 4, 1, 1, 0x11, 0});
const Bytes kScan = bytes({0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0x34});
const Bytes kComment = bytes({0xFF, 0xFE, 0, 4, 'h', 'i'});

bool is_frame_of_test(const std::optional<dts::JpegInfo>& info) {
  return info && info->height == 0x0102 && info->width == 0x0304 && info->num_components == 1 &&
         info->precision == 8 && info->sof == 0xC0;
}

}  // namespace

TEST_CASE("probe_jpeg reads sizes as PIL does, and nothing else for a JPEG") {
  int num_jpegs = 0;
  for (const auto& image : odd_images()) {
    CAPTURE(image.path);
    std::uint64_t needed = 99;
    const auto info = dts::probe_jpeg(image.data, &needed);
    if (image.is_jpeg()) {
      ++num_jpegs;
      REQUIRE(info);
      CHECK(info->width == image.pil["width"].get<std::uint32_t>());
      CHECK(info->height == image.pil["height"].get<std::uint32_t>());
      const std::string mode = image.pil["mode"].get<std::string>();
      CHECK(info->num_components == (mode == "L" ? 1u : mode == "CMYK" ? 4u : 3u));
      CHECK(info->precision == 8);
      CHECK(needed == 0);
      REQUIRE(info->scan_start > 0);
      CHECK(image.data[info->scan_start] == std::byte{0xFF});
      CHECK(image.data[info->scan_start + 1] == std::byte{0xDA});
    } else if (image.pil["ok"].get<bool>()) {
      CHECK_FALSE(info);
      CHECK(needed == 0);
    }
  }
  CHECK(num_jpegs == 30);
}

TEST_CASE("probe_jpeg reads the frames of JPEGs that PIL refuses for other reasons") {
  const auto bomb = dts::probe_jpeg(odd_image("size/bomb_65500.jpg"));
  REQUIRE(bomb);
  CHECK(bomb->width == 65500);
  CHECK(bomb->height == 65500);
  const auto deep = dts::probe_jpeg(odd_image("coding/twelve_bit.jpg"));
  REQUIRE(deep);
  CHECK(deep->precision == 12);
  CHECK(deep->sof == 0xC1);
  CHECK(dts::probe_jpeg(odd_image("sampling/fractional.jpg")));
}

TEST_CASE("probe_jpeg tells the coding process") {
  CHECK(dts::probe_jpeg(odd_image("coding/progressive.jpg"))->sof == 0xC2);
  CHECK(dts::probe_jpeg(odd_image("coding/arithmetic.jpg"))->sof == 0xC9);
  CHECK(dts::probe_jpeg(odd_image("sampling/s444.jpg"))->sof == 0xC0);
}

TEST_CASE("what is no JPEG needs no more bytes, an empty file some") {
  for (const char* path : {"names/really_text.jpg", "damage/junk_before_soi.jpg"}) {
    std::uint64_t needed = 99;
    CHECK_FALSE(dts::probe_jpeg(odd_image(path), &needed));
    CHECK(needed == 0);
  }
  std::uint64_t needed = 0;
  CHECK_FALSE(dts::probe_jpeg({}, &needed));
  CHECK(needed == 2);
  CHECK_FALSE(dts::probe_jpeg(kSoi, &needed));
  CHECK(needed == 4);
}

TEST_CASE("segments, fill bytes, junk and lone markers before the frame are passed over") {
  const Bytes tail = kFrame + kScan + kEoi;
  CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + tail)));
  CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + kComment + tail)));
  CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + bytes({0xFF, 0xFF, 0xFF}) + tail)));
  CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + kComment + bytes({1, 2, 0xFF, 0, 3}) + tail)));
  CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + bytes({0xFF, 0x01, 0xFF, 0xD3}) + tail)));
  // A length below 2 stands for an empty segment.
  CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + bytes({0xFF, 0xE3, 0, 0}) + tail)));
  // DHT, JPG and DAC share the range of frames.
  for (const int marker : {0xC4, 0xC8, 0xCC}) {
    const Bytes other = bytes({0xFF, marker, 0, 11, 8, 9, 9, 9, 9, 1, 1, 0x11, 0});
    CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + other + tail)));
  }
}

TEST_CASE("the frame of a thumbnail inside of a segment is not the picture's") {
  const Bytes thumbnail = kSoi + bytes({0xFF, 0xC0, 0, 11, 8, 9, 9, 9, 9, 1, 1, 0x11, 0}) + kEoi;
  const Bytes segment = bytes({0xFF, 0xE1, 0, static_cast<int>(thumbnail.size() + 2)}) + thumbnail;
  CHECK(is_frame_of_test(dts::probe_jpeg(kSoi + segment + kFrame + kScan)));
}

TEST_CASE("scan_start is the first scan's marker, 0 when the data ends before it") {
  const Bytes head = kSoi + kFrame + kComment;
  CHECK(dts::probe_jpeg(head + kScan + kScan)->scan_start == head.size());
  CHECK(dts::probe_jpeg(head)->scan_start == 0);
  CHECK(dts::probe_jpeg(head + bytes({0xFF, 0xFE, 0xFF, 0xFF}) + kScan)->scan_start == 0);
  CHECK(dts::probe_jpeg(head + kEoi + kScan)->scan_start == 0);
}

TEST_CASE("frames that lie about their length are refused, sizes of zero reported") {
  Bytes frame = kFrame;
  frame[3] = std::byte{12};
  std::uint64_t needed = 99;
  CHECK_FALSE(dts::probe_jpeg(kSoi + frame + kScan, &needed));
  CHECK(needed == 0);
  frame = kFrame;
  frame[9] = std::byte{0};  // no component
  frame[3] = std::byte{8};
  CHECK_FALSE(dts::probe_jpeg(kSoi + frame + kScan));
  frame = kFrame;
  frame[5] = frame[6] = std::byte{0};  // the height comes later, in a DNL segment
  const auto info = dts::probe_jpeg(kSoi + frame + kScan);
  REQUIRE(info);
  CHECK(info->height == 0);
  CHECK(info->width == 0x0304);
}

TEST_CASE("what must not stand before the frame ends the walk") {
  const Bytes second_soi = kSoi + kComment + kSoi + kFrame;
  const Bytes reserved = kSoi + bytes({0xFF, 0x02, 0, 4, 0, 0}) + kFrame;
  for (const Bytes& data : {second_soi, reserved, kSoi + kEoi + kFrame, kSoi + kScan + kFrame}) {
    std::uint64_t needed = 99;
    CHECK_FALSE(dts::probe_jpeg(data, &needed));
    CHECK(needed == 0);
  }
}

TEST_CASE("reading on by needed_bytes finds the frame behind 196 kB of profile") {
  for (const auto& image : odd_images()) {
    if (!image.is_jpeg()) continue;
    CAPTURE(image.path);
    const auto expected = dts::probe_jpeg(image.data);
    std::size_t have = 4;
    int rounds = 0;
    std::optional<dts::JpegInfo> info;
    for (; !info && rounds < 100; ++rounds) {
      const Bytes prefix(image.data.begin(),
                         image.data.begin() + static_cast<std::ptrdiff_t>(have));
      std::uint64_t needed = 0;
      info = dts::probe_jpeg(prefix, &needed);
      if (info) break;
      REQUIRE(needed > have);
      REQUIRE(needed <= image.data.size());
      have = needed;
    }
    CHECK(rounds < 40);
    REQUIRE(info);
    CHECK(info->width == expected->width);
    CHECK(info->height == expected->height);
  }
}
