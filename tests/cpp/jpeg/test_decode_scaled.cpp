// SPDX-License-Identifier: Apache-2.0
// Boxes of pictures at a part of their size as libjpeg decodes them.
#include "base/error.h"
#include "jpeg/boxes.h"
#include "jpeg/decode.h"
#include "jpeg/encoder.h"
#include "jpeg/image_box.h"
#include "support.h"

namespace dts::testing {
namespace {

// Boxes through libjpeg; returns how many of them were spliced.
int check_boxes(JpegDecoder& decoder, const Kind& kind, int width, int height, int num_boxes) {
  CAPTURE(kind.name);
  CAPTURE(kind.restart_interval);
  CAPTURE(width);
  const Bytes data = encode(kind, width, height, static_cast<unsigned>(width));
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  int num_spliced = 0;
  for (int halvings = 1; halvings <= kMaxHalvings; ++halvings) {
    CAPTURE(halvings);
    const Decoded whole = decode_whole(data, false, halvings);
    REQUIRE(whole.width == scaled_side(width, halvings));
    REQUIRE(whole.height == scaled_side(height, halvings));
    BoxMaker boxes(whole.width, whole.height, static_cast<std::uint64_t>(halvings));
    for (int i = 0; i < num_boxes; ++i) {
      const Box box = boxes.next();
      CAPTURE(box.top);
      CAPTURE(box.left);
      CAPTURE(box.height);
      CAPTURE(box.width);
      ConstImageView view;
      REQUIRE(decoder.decode_scaled(box, halvings, false, &view) == DecodeStatus::kOk);
      REQUIRE(count_wrong(view, whole, box) == 0);
      num_spliced += decoder.path() == DecodePath::kSpliced ? 1 : 0;
    }
  }
  return num_spliced;
}

}  // namespace

TEST_CASE("decode scaled: libjpeg's boxes equal those of the whole, for every kind") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  decoder.set_splicing(Splicing::kNever);
  for (const Kind& kind : every_kind()) {
    if (kind.unfinished || kind.only_low) continue;
    for (const int width : {9, 40, 157}) check_boxes(decoder, kind, width, 121, 6);
  }
}

TEST_CASE("decode scaled: spliced parts equal the whole") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  decoder.set_splicing(Splicing::kWhenPossible);
  int num_spliced = 0;
  for (Kind kind : every_kind()) {
    if (kind.progressive || kind.arithmetic || kind.one_scan_each) continue;
    kind.restart_interval = 1;
    num_spliced += check_boxes(decoder, kind, 203, 149, 10);
  }
  CHECK(num_spliced > 100);
}

TEST_CASE("decode scaled: what is refused, what is not checked, unscaled as ever") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kOwn);
  decoder.set_checking(true);
  const Bytes data = encode({.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}}, 157, 121);
  ConstImageView view;
  CHECK(decoder.decode_scaled({0, 0, 1, 1}, 1, false, &view) == DecodeStatus::kNotJpeg);
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  REQUIRE(decoder.decode_scaled({10, 20, 30, 40}, 1, false, &view) == DecodeStatus::kOk);
  CHECK(decoder.path() == DecodePath::kOwn);
  REQUIRE(decoder.decode_scaled({10, 20, 30, 40}, 0, false, &view) == DecodeStatus::kOk);
  CHECK(count_wrong(view, decode_whole(data), {10, 20, 30, 40}) == 0);
  const auto message = [&](const Box& box, int halvings) {
    const auto error =
        thrown<InvalidArgument>([&] { decoder.decode_scaled(box, halvings, false, &view); });
    return std::string(error.what());
  };
  CHECK(message({0, 0, 1, 1}, 4) == "halvings is 4, expected 0 to 3");
  CHECK(message({0, 0, 1, 1}, -1) == "halvings is -1, expected 0 to 3");
  CHECK(
      message({60, 0, 2, 1}, 1) ==
      "the box of 1 x 2 pixels at column 0, row 60 is not inside of the image of 157 x 121 at 1/2");
}

}  // namespace dts::testing
