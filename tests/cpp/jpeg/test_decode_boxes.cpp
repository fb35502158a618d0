// SPDX-License-Identifier: Apache-2.0
// Boxes of pictures of every kind and size equal the same boxes of a whole decode.
#include <algorithm>

#include "jpeg/boxes.h"
#include "jpeg/decode.h"
#include "jpeg/encoder.h"

namespace dts::testing {
namespace {

int check_boxes(JpegDecoder& decoder, const Kind& kind, int width, int height, int num_boxes) {
  CAPTURE(kind.name);
  CAPTURE(width);
  CAPTURE(height);
  const auto seed = static_cast<unsigned>(width * 1000 + height);
  const Bytes data = encode(kind, width, height, seed);
  const auto whole = decode_whole(data);
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  BoxMaker boxes(width, height, seed);
  for (int i = 0; i < num_boxes; ++i) {
    const Box box = boxes.next();
    CAPTURE(box.top);
    CAPTURE(box.left);
    CAPTURE(box.height);
    CAPTURE(box.width);
    ConstImageView view;
    REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
    REQUIRE(count_wrong(view, whole, box) == 0);
  }
  return num_boxes;
}

}  // namespace

TEST_CASE("sizes of every remainder, every kind") {
  JpegDecoder decoder;
  int num_boxes = 0;
  for (const Kind& kind : every_kind()) {
    for (int width = 1; width <= 70; ++width) {
      const int height = 1 + (width * 37) % 70;  // a permutation of 1..70
      num_boxes += check_boxes(decoder, kind, width, height, 3);
    }
  }
  CHECK(num_boxes > 20000);
}

TEST_CASE("larger pictures, where rows are skipped and columns left out") {
  JpegDecoder decoder;
  std::size_t number = 0;
  for (const Kind& kind : every_kind()) {
    check_boxes(decoder, kind, 211, 173, 8);
    check_boxes(decoder, kind, 192, 160, 6);
    // Samplings and codings come round at steps that share no factor with this one.
    if (number++ % 5 == 0) check_boxes(decoder, kind, 437, 401, 10);
  }
}

TEST_CASE("every first row and every first column of a picture with much subsampling") {
  JpegDecoder decoder;
  for (const Kind& kind : every_kind()) {
    if (kind.name.find("420") == std::string::npos && kind.name.find("440") == std::string::npos &&
        kind.name.find("2x4") == std::string::npos) {
      continue;
    }
    CAPTURE(kind.name);
    const Bytes data = encode(kind, 135, 67);
    const auto whole = decode_whole(data);
    REQUIRE(decoder.open(data) == DecodeStatus::kOk);
    ConstImageView view;
    for (std::int64_t top = 0; top < 67; ++top) {
      const Box box = {top, 60, std::min<std::int64_t>(2, 67 - top), 30};
      REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
      REQUIRE(count_wrong(view, whole, box) == 0);
    }
    for (std::int64_t left = 0; left < 135; ++left) {
      const Box box = {40, left, 3, std::min<std::int64_t>(5, 135 - left)};
      REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
      REQUIRE(count_wrong(view, whole, box) == 0);
    }
  }
}

TEST_CASE("one row, one column, one pixel") {
  JpegDecoder decoder;
  for (const Kind& kind : every_kind()) {
    check_boxes(decoder, kind, 1, 1, 1);
    check_boxes(decoder, kind, 1, 300, 8);
    check_boxes(decoder, kind, 300, 1, 8);
    check_boxes(decoder, kind, 5, 200, 8);
  }
}

}  // namespace dts::testing
