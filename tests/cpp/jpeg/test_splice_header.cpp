// SPDX-License-Identifier: Apache-2.0
#include "jpeg/splice_header.h"

#include <doctest/doctest.h>

#include "jpeg/edit.h"

namespace {

using dts::read_splice_header;
using dts::SpliceHeader;
using dts::testing::Bytes;
using dts::testing::coded_at;
using dts::testing::encode;
using dts::testing::Kind;
using dts::testing::segment_at;
using dts::testing::value_at;
using dts::testing::with_inserted;
using dts::testing::with_value;
using dts::testing::without;

const Kind kPhoto = {
    .name = "420", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .restart_interval = 0x123};

const Bytes& photo() {
  static const Bytes data = encode(kPhoto, 301, 155);
  return data;
}

bool is_read(const Bytes& data) {
  std::vector<std::byte> copy;
  const bool found = read_splice_header(data, copy).has_value();
  // Never outside of memory, wherever the data ends.
  for (std::size_t size = 0; size < std::min<std::size_t>(data.size(), 800); ++size) {
    Bytes prefix(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
    prefix.shrink_to_fit();
    const bool of_prefix = read_splice_header(prefix, copy).has_value();
    if (of_prefix && !found) return true;
  }
  return found;
}

}  // namespace

TEST_CASE("the header of a picture with restart markers") {
  std::vector<std::byte> copy;
  const auto header = read_splice_header(photo(), copy);
  REQUIRE(header);
  CHECK(header->width == 301);
  CHECK(header->height == 155);
  CHECK(header->num_components == 3);
  CHECK(header->mcu_width == 16);
  CHECK(header->mcu_height == 16);
  CHECK(header->restart_interval == 0x123);
  CHECK(header->coded_offset == coded_at(photo()));
  const std::size_t at = header->size_offset;
  CHECK(value_at(copy, at) * 256 + value_at(copy, at + 1) == 155);
  CHECK(value_at(copy, at + 2) * 256 + value_at(copy, at + 3) == 301);
  // The copy is the header of the same picture.
  std::vector<std::byte> again;
  const auto of_copy = read_splice_header(copy, again);
  REQUIRE(of_copy);
  CHECK(of_copy->coded_offset == copy.size());
  CHECK(again == copy);
}

TEST_CASE("units are 8 x 8 for one component, whatever its factors") {
  const auto unit_of = [](const dts::testing::Sampling& sampling, J_COLOR_SPACE space) {
    Kind kind{.name = "", .sampling = sampling, .input = space, .stored = space};
    kind.restart_interval = 1;
    std::vector<std::byte> copy;
    const auto header = read_splice_header(encode(kind, 30, 20), copy);
    REQUIRE(header);
    return std::array<std::int64_t, 2>{header->mcu_width, header->mcu_height};
  };
  using Unit = std::array<std::int64_t, 2>;
  CHECK(unit_of({{2, 2}}, JCS_GRAYSCALE) == Unit{8, 8});
  CHECK(unit_of({{1, 2}}, JCS_GRAYSCALE) == Unit{8, 8});
  CHECK(unit_of({{4, 1}, {1, 1}, {1, 1}}, JCS_RGB) == Unit{32, 8});
  CHECK(unit_of({{1, 2}, {1, 1}, {1, 1}}, JCS_RGB) == Unit{8, 16});
  CHECK(unit_of({{1, 1}, {2, 1}, {1, 1}}, JCS_RGB) == Unit{16, 8});
  CHECK(unit_of({{1, 1}, {1, 1}, {1, 1}, {1, 1}}, JCS_CMYK) == Unit{8, 8});
}

TEST_CASE("what pixels don't depend on is left out of the copy; the last interval counts") {
  std::vector<std::byte> plain, copy;
  REQUIRE(read_splice_header(photo(), plain));
  // A thumbnail in Exif, a comment, fill bytes, another interval before and none at all after.
  const Bytes thumbnail = encode({.name = "", .restart_interval = 2}, 16, 16);
  const std::size_t exif_bytes = thumbnail.size() + 8;
  Bytes data = with_inserted(photo(), segment_at(photo(), 0xDB),
                             {0xFF, 0xDD, 0, 4, 0, 7, 0xFF, 0xFF, 0xFF, 0xFE, 0, 4, 0x68, 0x69});
  data = with_inserted(data, 2,
                       {0xFF, 0xE1, static_cast<int>(exif_bytes / 256),
                        static_cast<int>(exif_bytes % 256), 1, 2, 3, 4, 5, 6});
  data.insert(data.begin() + 12, thumbnail.begin(), thumbnail.end());
  const auto header = read_splice_header(data, copy);
  REQUIRE(header);
  CHECK(header->width == 301);
  CHECK(header->restart_interval == 0x123);
  CHECK(copy == plain);
  CHECK_FALSE(is_read(with_inserted(photo(), segment_at(photo(), 0xDA), {0xFF, 0xDD, 0, 4, 0, 0})));
}

TEST_CASE("colour spaces are told by segments that stay") {
  // Pillow's and libjpeg's colours come from JFIF or Adobe segments.
  for (const J_COLOR_SPACE stored : {JCS_YCbCr, JCS_RGB}) {
    const Bytes data = encode({.name = "", .stored = stored, .restart_interval = 1}, 30, 20);
    std::vector<std::byte> copy;
    REQUIRE(read_splice_header(data, copy));
    const int marker = stored == JCS_RGB ? 0xEE : 0xE0;
    CHECK(segment_at(data, marker) < coded_at(data));
    CHECK(segment_at(copy, marker) < copy.size());
  }
}

TEST_CASE("any other process is refused") {
  const auto kind_is_read = [](Kind kind) {
    kind.restart_interval = 2;
    return is_read(encode(kind, 60, 40));
  };
  CHECK(kind_is_read({.name = "baseline"}));
  CHECK_FALSE(kind_is_read({.name = "progressive", .progressive = true}));
  CHECK_FALSE(kind_is_read({.name = "several scans", .one_scan_each = true}));
#ifdef C_ARITH_CODING_SUPPORTED
  CHECK_FALSE(kind_is_read({.name = "arithmetic", .arithmetic = true}));
#endif
  CHECK_FALSE(is_read(encode({.name = "no interval"}, 60, 40)));
  const std::size_t frame = segment_at(photo(), 0xC0);
  CHECK(is_read(with_value(photo(), frame + 1, 0xC1)));  // extended sequential
  for (const int marker : {0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC8, 0xC9, 0xCA, 0xCB, 0xCC, 0xCF}) {
    CHECK_FALSE(is_read(with_value(photo(), frame + 1, marker)));
  }
}

TEST_CASE("a header that libjpeg might judge otherwise is refused") {
  const Bytes& good = photo();
  const std::size_t frame = segment_at(good, 0xC0), scan = segment_at(good, 0xDA);
  const std::size_t quantization = segment_at(good, 0xDB), huffman = segment_at(good, 0xC4);
  CHECK(is_read(good));
  CHECK_FALSE(is_read({}));
  CHECK_FALSE(is_read(with_value(good, 1, 0xD9)));
  CHECK_FALSE(is_read(with_value(good, frame + 4, 12)));                           // bits a sample
  CHECK_FALSE(is_read(with_value(with_value(good, frame + 5, 0), frame + 6, 0)));  // height 0
  CHECK_FALSE(is_read(with_value(with_value(good, frame + 7, 0), frame + 8, 0)));
  CHECK(is_read(with_value(with_value(good, frame + 7, 0xFF), frame + 8, 0xDC)));  // 65500
  CHECK_FALSE(is_read(with_value(with_value(good, frame + 7, 0xFF), frame + 8, 0xDD)));
  CHECK_FALSE(is_read(with_value(good, frame + 9, 2)));      // components
  CHECK_FALSE(is_read(with_value(good, frame + 3, 18)));     // length
  CHECK_FALSE(is_read(with_value(good, frame + 13, 1)));     // an identifier twice
  CHECK_FALSE(is_read(with_value(good, frame + 11, 0x20)));  // sampling factors
  CHECK_FALSE(is_read(with_value(good, frame + 11, 0x25)));
  CHECK_FALSE(is_read(with_value(good, frame + 11, 0x44)));  // 18 blocks a unit
  CHECK_FALSE(is_read(with_value(good, scan + 4, 1)));       // not all components
  CHECK_FALSE(is_read(with_value(good, scan + 5, 9)));
  CHECK_FALSE(is_read(with_value(with_value(good, scan + 5, 2), scan + 7, 1)));
  CHECK_FALSE(is_read(without(good, frame, frame + 19)));
  CHECK_FALSE(is_read(with_inserted(good, frame, {0xFF, 0xD8})));
  const Bytes twice = [&] {
    Bytes data = good;
    data.insert(data.begin() + static_cast<std::ptrdiff_t>(scan),
                good.begin() + static_cast<std::ptrdiff_t>(frame),
                good.begin() + static_cast<std::ptrdiff_t>(frame + 19));
    return data;
  }();
  CHECK_FALSE(is_read(twice));
  CHECK_FALSE(is_read(with_value(good, quantization + 4, 0x04)));  // table 4
  CHECK_FALSE(is_read(with_value(good, quantization + 4, 0x10)));  // 16 bits, too short
  CHECK_FALSE(is_read(with_value(good, quantization + 4, 0x20)));
  CHECK_FALSE(is_read(with_value(good, quantization + 3, 66)));
  CHECK_FALSE(is_read(with_value(good, huffman + 4, 0x04)));
  CHECK_FALSE(is_read(with_value(good, huffman + 4, 0x20)));
  CHECK_FALSE(is_read(with_value(good, huffman + 5, 200)));  // more symbols than there are
  CHECK_FALSE(is_read(with_value(good, huffman + 6, 0)));    // fewer: some are left over
  for (const std::vector<int>& stray : std::vector<std::vector<int>>{{0x00},
                                                                     {0xFF, 0x00},
                                                                     {0xFF, 0x01},
                                                                     {0xFF, 0xD0},
                                                                     {0xFF, 0xD9},
                                                                     {0xFF, 0x02, 0, 2},
                                                                     {0xFF, 0xFE, 0, 1},
                                                                     {0xFF, 0xDD, 0, 3, 1},
                                                                     {0xFF, 0xDD, 0, 5, 0, 1, 1},
                                                                     {0xFF, 0xDC, 0, 4, 0, 155},
                                                                     {0xFF, 0xCC, 0, 4, 0, 0x10},
                                                                     {0xFF, 0xFE, 0xFF, 0xFF}}) {
    CAPTURE(stray.size());
    CHECK_FALSE(is_read(with_inserted(good, quantization, stray)));
  }
  CHECK(is_read(with_inserted(good, quantization, {0xFF, 0xFF, 0xFF, 0xFE, 0, 2})));
}
