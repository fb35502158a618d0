// SPDX-License-Identifier: Apache-2.0
#include "jpeg/frame_header.h"

#include <set>

#include "jpeg/edit.h"
#include "jpeg/libjpeg_session.h"

namespace dts::testing {
namespace {

bool reads(const Bytes& data) {
  FrameHeader header;
  return read_frame_header(data, &header);
}

const Kind k420{.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}};

}  // namespace

TEST_CASE("frame header: which kinds are read, and what they say") {
  const std::set<std::string> expected = {"444",      "444 restarts", "422",     "422 restarts",
                                          "420",      "420 restarts", "440",     "440 restarts",
                                          "gray 1x1", "gray 2x2",     "gray 1x2"};
  std::set<std::string> accepted;
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Bytes data = encode(kind, 75, 43);
    FrameHeader header;
    if (!read_frame_header(data, &header)) continue;
    accepted.insert(kind.name);
    CHECK(header.geometry.width == 75);
    CHECK(header.geometry.height == 43);
    CHECK(header.restart_interval == kind.restart_interval);
    CHECK(header.coded_offset == coded_at(data));
    LibjpegSession session;
    REQUIRE(session.read_header(data));
    const jpeg_decompress_struct& codec = session.codec();
    CHECK(codec.jpeg_color_space == (codec.num_components == 1 ? JCS_GRAYSCALE : JCS_YCbCr));
    REQUIRE(header.geometry.num_components == codec.num_components);
    for (int c = 0; c < codec.num_components; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const bool is_alone = codec.num_components == 1;
      CHECK(header.geometry.horizontal[i] == (is_alone ? 1 : codec.comp_info[c].h_samp_factor));
      CHECK(header.geometry.vertical[i] == (is_alone ? 1 : codec.comp_info[c].v_samp_factor));
      const JQUANT_TBL& table = *codec.quant_tbl_ptrs[codec.comp_info[c].quant_tbl_no];
      for (std::size_t k = 0; k < 64; ++k) CHECK(header.quantization[i][k] == table.quantval[k]);
    }
  }
  CHECK(accepted == expected);
}

TEST_CASE("frame header: units of a picture") {
  JpegGeometry geometry;
  geometry.width = 33;
  geometry.height = 16;
  geometry.num_components = 3;
  geometry.horizontal = {2, 1, 1};
  CHECK(geometry.mcus_per_row() == 3);
  CHECK(geometry.mcu_rows() == 2);
}

TEST_CASE("frame header: the last table and the last interval count") {
  const Bytes data = encode(k420, 40, 40);
  const std::size_t quantization = segment_at(data, 0xDB);
  const std::size_t frame = segment_at(data, 0xC0);
  Bytes changed = with_inserted(data, frame, {0xFF, 0xDD, 0, 4, 0, 9, 0xFF, 0xDD, 0, 4, 1, 2});
  FrameHeader header;
  REQUIRE(read_frame_header(changed, &header));
  CHECK(header.restart_interval == 258);
  // 16 bits wide, 600 everywhere.
  std::vector<int> wide = {0xFF, 0xDB, 0, 131, 0x10};
  for (int k = 0; k < 64; ++k) wide.insert(wide.end(), {2, 88});
  changed = with_inserted(data, frame, wide);
  REQUIRE(read_frame_header(changed, &header));
  CHECK(header.quantization[0][0] == 600);
  CHECK(header.quantization[0][63] == 600);
  CHECK(header.quantization[1][63] < 256);
  changed = with_inserted(data, quantization, wide);
  REQUIRE(read_frame_header(changed, &header));
  CHECK(header.quantization[0][0] < 256);
  CHECK(reads(with_inserted(data, quantization, {0xFF, 0xFF, 0xFF})));
}

TEST_CASE("frame header: colours as libjpeg sees them") {
  const Bytes jfif = encode(k420, 40, 40);
  const std::size_t app0 = segment_at(jfif, 0xE0);
  const Bytes plain = without(jfif, app0, app0 + 18);
  CHECK(reads(plain));  // by the numbers 1, 2, 3
  const auto adobe = [](int transform) {
    return std::vector<int>{0xFF, 0xEE, 0,   14, 'A', 'd', 'o', 'b',
                            'e',  0,    100, 0,  0,   0,   0,   transform};
  };
  CHECK(reads(with_inserted(plain, 2, adobe(1))));
  CHECK_FALSE(reads(with_inserted(plain, 2, adobe(0))));
  CHECK_FALSE(reads(with_inserted(plain, 2, adobe(2))));
  CHECK(reads(with_inserted(jfif, 2, adobe(0))));  // JFIF comes first
  const auto named = [](Bytes data, int a, int b, int c) {
    const std::size_t frame = segment_at(data, 0xC0), scan = segment_at(data, 0xDA);
    const int ids[] = {a, b, c};
    for (std::size_t i = 0; i < 3; ++i) {
      data[frame + 10 + 3 * i] = static_cast<std::byte>(ids[i]);
      data[scan + 5 + 2 * i] = static_cast<std::byte>(ids[i]);
    }
    return data;
  };
  CHECK_FALSE(reads(named(plain, 'R', 'G', 'B')));
  CHECK(reads(named(jfif, 'R', 'G', 'B')));
  CHECK(reads(named(plain, 0, 1, 2)));
  CHECK_FALSE(reads(named(plain, 1, 2, 2)));
}

TEST_CASE("frame header: refused") {
  const Bytes data = encode(k420, 40, 40);
  const std::size_t frame = segment_at(data, 0xC0), scan = segment_at(data, 0xDA);
  const std::size_t huffman = segment_at(data, 0xC4), quantization = segment_at(data, 0xDB);
  CHECK(reads(data));
  CHECK(reads(with_value(data, frame + 1, 0xC1)));
  for (const int sof : {0xC2, 0xC3, 0xC5, 0xC9, 0xD9, 0xD0, 0x01, 0xF0}) {
    CHECK_FALSE(reads(with_value(data, frame + 1, sof)));
  }
  CHECK_FALSE(reads(with_value(data, frame + 4, 12)));                                 // bits
  CHECK_FALSE(reads(with_value(data, frame + 3, 18)));                                 // length
  CHECK_FALSE(reads(with_value(with_value(data, frame + 5, 0xFF), frame + 6, 0xFF)));  // too high
  CHECK_FALSE(reads(with_value(data, frame + 6, 0)));                                  // height 0
  CHECK_FALSE(reads(with_value(data, frame + 11, 0x41)));                              // samplings
  CHECK_FALSE(reads(with_value(data, frame + 11, 0x02)));
  CHECK_FALSE(reads(with_value(data, frame + 14, 0x21)));
  CHECK_FALSE(reads(with_value(data, frame + 12, 4)));  // tables
  CHECK_FALSE(reads(with_value(data, frame + 12, 3)));
  CHECK_FALSE(reads(with_value(data, scan + 6, 0x20)));
  CHECK_FALSE(reads(with_value(data, scan + 6, 0x40)));
  CHECK_FALSE(reads(with_value(data, scan + 5, 7)));   // another component
  CHECK_FALSE(reads(with_value(data, scan + 11, 1)));  // range and bits
  CHECK_FALSE(reads(with_value(data, scan + 12, 62)));
  CHECK_FALSE(reads(with_value(data, scan + 13, 1)));
  CHECK_FALSE(reads(with_value(data, huffman + 4, 0x20)));
  CHECK_FALSE(reads(with_value(data, huffman + 4, 0x04)));
  CHECK_FALSE(reads(with_value(data, huffman + 5, 0xFF)));
  CHECK_FALSE(reads(with_value(data, quantization + 4, 0x20)));
  CHECK_FALSE(reads(with_value(data, quantization + 4, 0x04)));
  CHECK_FALSE(reads(with_inserted(data, frame, {0xFF, 0xDD, 0, 5, 0, 9, 0})));
  CHECK_FALSE(reads(with_inserted(data, frame, {0x12})));
  CHECK_FALSE(reads(with_inserted(data, frame, {0xFF, 0xD8})));
  const Bytes second(data.begin() + static_cast<std::ptrdiff_t>(frame),
                     data.begin() + static_cast<std::ptrdiff_t>(frame + 19));
  Bytes twice = data;
  twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(frame), second.begin(), second.end());
  CHECK_FALSE(reads(twice));
}

TEST_CASE("frame header: data that ends anywhere, and changed bytes") {
  const Bytes data = encode(k420, 40, 40);
  for (std::size_t size = 0; size < coded_at(data); ++size) {
    CHECK_FALSE(reads(Bytes(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size))));
  }
  std::uint64_t state = 1;
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) accepted += reads(mutate(data, state));
  CHECK(accepted > 100);
  CHECK(accepted < 2900);
}

}  // namespace dts::testing
