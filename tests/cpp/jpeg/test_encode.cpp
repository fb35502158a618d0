// SPDX-License-Identifier: Apache-2.0
// What is written: layout, markers, memory. That the pixels are those of Pillow's save()
// is tested in tests/_native/test_transcode_export.py.
#include "jpeg/encode.h"

#include <string>

#include "base/error.h"
#include "jpeg/encoder.h"
#include "jpeg/libjpeg_session.h"
#include "support.h"

namespace {

using dts::ConstByteSpan;
using dts::ConstImageView;
using dts::EncodeOptions;
using dts::JpegEncoder;
using dts::testing::Bytes;

// Noise with bytes between the rows that must not show.
struct Picture {
  std::vector<std::uint8_t> bytes;
  ConstImageView view;
};

Picture noise(std::int64_t width, std::int64_t height, std::int64_t channels, int gap) {
  Picture picture;
  const std::int64_t stride = width * channels + gap;
  std::uint64_t state = 7;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < stride; ++x) {
      const bool is_gap = x >= width * channels;
      picture.bytes.push_back(
          is_gap ? static_cast<std::uint8_t>(y)
                 : static_cast<std::uint8_t>(dts::testing::next_random(state, 256)));
    }
  }
  picture.view = {picture.bytes.data(), height, width, channels, stride};
  return picture;
}

Bytes encoded(JpegEncoder& encoder, const Picture& picture, const EncodeOptions& options) {
  const ConstByteSpan bytes = encoder.encode(picture.view, options);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("colour is 4:2:0 and baseline, gray has one component") {
  JpegEncoder encoder;
  dts::LibjpegSession session;
  const Bytes colour = encoded(encoder, noise(50, 41, 3, 0), {90, -1, false});
  REQUIRE(session.read_header(colour));
  CHECK(session.codec().num_components == 3);
  CHECK(session.codec().jpeg_color_space == JCS_YCbCr);
  CHECK(session.codec().comp_info[0].h_samp_factor == 2);
  CHECK(session.codec().comp_info[0].v_samp_factor == 2);
  CHECK(session.codec().comp_info[1].h_samp_factor == 1);
  CHECK(session.codec().saw_JFIF_marker);
  CHECK_FALSE(session.codec().progressive_mode);
  CHECK(session.codec().restart_interval == 0);
  const Bytes gray = encoded(encoder, noise(50, 41, 1, 0), {90, -1, false});
  REQUIRE(session.read_header(gray));
  CHECK(session.codec().num_components == 1);
  CHECK(session.codec().jpeg_color_space == JCS_GRAYSCALE);
}

TEST_CASE("markers and tables change the bytes and not the pixels") {
  JpegEncoder encoder;
  for (const std::int64_t channels : {1, 3}) {
    const Picture picture = noise(100, 70, channels, 0);
    const Bytes plain = encoded(encoder, picture, {80, -1, false});
    const auto pixels = dts::testing::decode_whole(plain).pixels;
    const Bytes optimal = encoded(encoder, picture, {80, -1, true});
    CHECK(optimal.size() < plain.size());
    CHECK(dts::testing::decode_whole(optimal).pixels == pixels);
    const Bytes marked = encoded(encoder, picture, {80, 0, true});
    CHECK(marked.size() > optimal.size());
    CHECK(dts::testing::decode_whole(marked).pixels == pixels);
    dts::LibjpegSession session;
    REQUIRE(session.read_header(marked));
    // Rows of 7 MCUs, of gray 13: neither has a divisor from 2 to 6.
    CHECK(session.codec().restart_interval == 1);
    CHECK(dts::testing::decode_whole(encoded(encoder, picture, {80, 70000, false})).pixels ==
          pixels);
  }
}

TEST_CASE("rows may lie apart, and one encoder writes many pictures") {
  JpegEncoder encoder, fresh;
  const Bytes close = encoded(fresh, noise(33, 17, 3, 0), {75, 2, true});
  encoded(encoder, noise(300, 217, 3, 0), {100, 1, false});
  const std::size_t held = encoder.held_bytes();
  CHECK(encoded(encoder, noise(33, 17, 3, 5), {75, 2, true}) == close);
  CHECK(encoder.held_bytes() == held);
  encoder.shrink(0);
  CHECK(encoder.held_bytes() == 0);
  CHECK(encoded(encoder, noise(33, 17, 3, 5), {75, 2, true}) == close);
}

TEST_CASE("one pixel, and the widest picture") {
  JpegEncoder encoder;
  CHECK(dts::testing::decode_whole(encoded(encoder, noise(1, 1, 3, 0), {})).width == 1);
  CHECK(dts::testing::decode_whole(encoded(encoder, noise(65500, 1, 1, 0), {})).width == 65500);
  CHECK(dts::testing::decode_whole(encoded(encoder, noise(1, 65500, 1, 0), {})).height == 65500);
}

TEST_CASE("other pixels and options are refused") {
  JpegEncoder encoder;
  const Picture picture = noise(4, 4, 3, 0);
  const auto refused = [&](ConstImageView view, const EncodeOptions& options) {
    return std::string(
        dts::testing::thrown<dts::InvalidArgument>([&] { encoder.encode(view, options); }).what());
  };
  ConstImageView view = picture.view;
  CHECK(refused(view, {0, -1, false}) == "encode: the quality is 0, expected 1 to 100");
  CHECK(refused(view, {101, -1, false}) == "encode: the quality is 101, expected 1 to 100");
  CHECK(refused(view, {75, -2, false}).find("restart_interval is -2") == 0);
  view.channels = 4;
  CHECK(refused(view, {}) == "encode: the picture has 4 channels, expected 1 or 3");
  view = picture.view;
  view.width = 65501;
  CHECK(refused(view, {}) ==
        "encode: the picture is 65501 x 4, a JPEG has 1 to 65500 pixels a side");
  view = picture.view;
  view.height = 0;
  CHECK(refused(view, {}) == "encode: the picture is 4 x 0, a JPEG has 1 to 65500 pixels a side");
}
