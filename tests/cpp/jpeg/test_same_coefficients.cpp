// SPDX-License-Identifier: Apache-2.0
#include "jpeg/same_coefficients.h"

#include "jpeg/encoder.h"
#include "jpeg/same_pixels.h"
#include "jpeg/transcode.h"

namespace {

using dts::CoefficientComparer;
using dts::ConstByteSpan;
using dts::JpegTranscoder;
using dts::LibjpegSession;
using dts::PixelComparer;
using dts::PixelComparison;
using dts::testing::Bytes;
using dts::testing::encode;
using dts::testing::every_kind;
using dts::testing::Kind;

bool are_same(CoefficientComparer& comparer, const Bytes& one, ConstByteSpan other) {
  LibjpegSession session;
  REQUIRE(session.read_header(one));
  jvirt_barray_ptr* arrays = nullptr;
  REQUIRE(session.guarded(
      [&arrays](jpeg_decompress_struct& codec) { arrays = jpeg_read_coefficients(&codec); }));
  return comparer.are_same(session, arrays, other);
}

}  // namespace

TEST_CASE("coefficients that are the same prove that pixels are") {
  CoefficientComparer comparer;
  PixelComparer pixels;
  int num_proven = 0;
  for (const Kind& kind : every_kind()) {
    CAPTURE(kind.name);
    const Bytes data = encode(kind, 37, 23);
    JpegTranscoder transcoder;
    dts::Transcoded result;
    if (transcoder.run(data, {2, true}, &result) != dts::TranscodeStatus::kDone) continue;
    CHECK(are_same(comparer, data, result.bytes));
    CHECK(pixels.compare(data, result.bytes) == PixelComparison::kSame);
    ++num_proven;
  }
  CHECK(num_proven > 10);
}

TEST_CASE("nothing is proven of pictures that differ, or that libjpeg warns of") {
  const Kind half{.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}};
  const Bytes data = encode(half, 50, 41);
  CoefficientComparer comparer;
  CHECK(are_same(comparer, data, data));
  CHECK_FALSE(are_same(comparer, data, encode(half, 50, 41, 2)));
  CHECK_FALSE(are_same(comparer, data, encode(half, 49, 41)));
  CHECK_FALSE(are_same(comparer, data, encode(half, 50, 42)));
  Kind other = half;
  other.quality = 87;
  CHECK_FALSE(are_same(comparer, data, encode(other, 50, 41)));
  other = half;
  other.sampling[0] = {2, 1};
  CHECK_FALSE(are_same(comparer, data, encode(other, 50, 41)));
  other = half;
  other.stored = JCS_RGB;
  CHECK_FALSE(are_same(comparer, data, encode(other, 50, 41)));
  const Kind gray{
      .name = "", .sampling = {{1, 1}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  CHECK_FALSE(are_same(comparer, data, encode(gray, 50, 41)));
  CHECK_FALSE(are_same(comparer, data, ConstByteSpan(data).first(data.size() - 200)));
  CHECK_FALSE(are_same(comparer, data, {}));
  // Another table, to the last entry: a byte of DQT, which comes behind SOI and APP0.
  for (std::size_t at = 0; at + 70 < data.size(); ++at) {
    if (data[at] != std::byte{0xFF} || data[at + 1] != std::byte{0xDB}) continue;
    Bytes changed = data;
    changed[at + 68] ^= std::byte{1};
    CHECK_FALSE(are_same(comparer, data, changed));
    break;
  }
  // Without its JFIF marker libjpeg tells the colours by the components' numbers.
  Bytes bare(data.begin(), data.begin() + 2);
  bare.insert(bare.end(), data.begin() + 2 + 2 + 16, data.end());
  CHECK_FALSE(are_same(comparer, data, bare));
  // Factors that libjpeg makes no pixels of.
  const Bytes& fractional = dts::testing::odd_image("sampling/fractional.jpg");
  CHECK_FALSE(are_same(comparer, fractional, fractional));
  CHECK(are_same(comparer, data, data));
}
