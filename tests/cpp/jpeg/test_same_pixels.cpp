// SPDX-License-Identifier: Apache-2.0
#include "jpeg/same_pixels.h"

#include "jpeg/encoder.h"
#include "jpeg/libjpeg_compressor.h"

namespace {

using dts::PixelComparer;
using dts::PixelComparison;
using dts::testing::Bytes;
using dts::testing::encode;
using dts::testing::every_kind;
using dts::testing::Kind;

const dts::testing::Sampling kHalf = {{2, 2}, {1, 1}, {1, 1}};

Bytes picture(bool progressive, int width = 50, int height = 41, unsigned seed = 1) {
  return encode({.name = "", .sampling = kHalf, .progressive = progressive}, width, height, seed);
}

// One colour, its black as full as it gets.
Bytes inks(JSAMPLE cyan) {
  dts::LibjpegCompressor session;
  REQUIRE(session.begin(0));
  REQUIRE(session.guarded([cyan](jpeg_compress_struct& codec) {
    codec.image_width = codec.image_height = 8;
    codec.input_components = 4;
    codec.in_color_space = JCS_CMYK;
    jpeg_set_defaults(&codec);
    jpeg_start_compress(&codec, TRUE);
    JSAMPLE row[8 * 4] = {};
    for (int x = 0; x < 8; ++x) row[4 * x] = cyan;
    JSAMPROW rows[1] = {row};
    while (codec.next_scanline < 8) jpeg_write_scanlines(&codec, rows, 1);
    jpeg_finish_compress(&codec);
  }));
  return {session.written().begin(), session.written().end()};
}

}  // namespace

TEST_CASE("the same picture coded in two ways is the same") {
  PixelComparer comparer;
  CHECK(comparer.compare(picture(false), picture(true)) == PixelComparison::kSame);
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Bytes data = encode(kind, 37, 23);
    CHECK(comparer.compare(data, data) == PixelComparison::kSame);
  }
}

TEST_CASE("other pixels, sizes and components are different") {
  PixelComparer comparer;
  CHECK(comparer.compare(picture(false), picture(false, 50, 41, 2)) == PixelComparison::kDifferent);
  CHECK(comparer.compare(picture(false), picture(false, 49, 41)) == PixelComparison::kDifferent);
  CHECK(comparer.compare(picture(false), picture(false, 50, 42)) == PixelComparison::kDifferent);
  Kind gray{.name = "", .sampling = {{1, 1}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  CHECK(comparer.compare(picture(false), encode(gray, 50, 41)) == PixelComparison::kDifferent);
}

TEST_CASE("inks that no longer show once converted are different all the same") {
  // Full black covers the others: both are black in RGB.
  const Bytes one = inks(255), other = inks(0);
  CHECK(dts::testing::decode_whole(one).pixels == dts::testing::decode_whole(other).pixels);
  PixelComparer comparer;
  CHECK(comparer.compare(one, other) == PixelComparison::kDifferent);
  CHECK(comparer.compare(one, one) == PixelComparison::kSame);
}

TEST_CASE("what libjpeg gives up or warns of has failed") {
  PixelComparer comparer;
  const Bytes whole = picture(false);
  CHECK(comparer.compare(whole, {}) == PixelComparison::kFailed);
  CHECK(comparer.compare(dts::testing::odd_image("names/really_text.jpg"), whole) ==
        PixelComparison::kFailed);
  Bytes cut(whole.begin(), whole.end() - 200);
  CHECK(comparer.compare(cut, cut) == PixelComparison::kFailed);
  CHECK(comparer.compare(whole, cut) != PixelComparison::kSame);
  const Bytes& fractional = dts::testing::odd_image("sampling/fractional.jpg");
  CHECK(comparer.compare(fractional, fractional) == PixelComparison::kFailed);
  CHECK(comparer.compare(whole, whole) == PixelComparison::kSame);
}
