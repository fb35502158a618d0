// SPDX-License-Identifier: Apache-2.0
// Pixels of files with restart markers equal the full decode, whether segments are cut out or
// not. Which files can be cut: test_splice.cpp.
#include <algorithm>
#include <set>

#include "jpeg/boxes.h"
#include "jpeg/decode.h"
#include "jpeg/edit.h"

namespace {

using dts::Box;
using dts::ConstImageView;
using dts::DecodePath;
using dts::DecodeStatus;
using dts::JpegDecoder;
using dts::JpegReader;
using dts::Splicing;
using dts::testing::BoxMaker;
using dts::testing::Bytes;
using dts::testing::coded_at;
using dts::testing::count_wrong;
using dts::testing::decode_whole;
using dts::testing::encode;
using dts::testing::every_kind;
using dts::testing::Kind;
using dts::testing::next_random;
using dts::testing::restarts_at;
using dts::testing::segment_at;
using dts::testing::value_at;
using dts::testing::with_inserted;
using dts::testing::with_value;
using dts::testing::without;

bool was_spliced(const JpegDecoder& decoder) { return decoder.path() == DecodePath::kSpliced; }

// Sequential ones with one scan.
std::vector<Kind> kinds_to_splice() {
  std::vector<Kind> kinds;
  for (const Kind& kind : every_kind()) {
    if (!kind.progressive && !kind.arithmetic && !kind.one_scan_each &&
        kind.restart_interval == 0) {
      kinds.push_back(kind);
    }
  }
  return kinds;
}

int units_in_row(const Kind& kind, int width) {
  int widest = 1;
  for (const auto& factors : kind.sampling) widest = std::max(widest, factors[0]);
  const int unit = kind.sampling.size() == 1 ? 8 : 8 * widest;
  return (width + unit - 1) / unit;
}

// From 1 to two rows and one; mostly such that the file can be spliced.
int random_interval(int row, std::uint64_t& state) {
  const auto longest = static_cast<unsigned>(2 * row + 1);
  const int any = 1 + static_cast<int>(next_random(state, longest));
  switch (next_random(state, 6)) {
    case 0:
      return any;
    case 1:
      return row;
    case 2:
      return 2 * row;
    case 3:
      return 1;
    default:
      break;
  }
  int divisor = std::min(any, row);
  while (row % divisor != 0) --divisor;
  return divisor;
}

struct Counts {
  int boxes = 0;
  int spliced = 0;
};

void check_boxes(JpegDecoder& decoder, const Kind& kind, int width, int height, int num_boxes,
                 Counts* counts) {
  CAPTURE(kind.name);
  CAPTURE(kind.restart_interval);
  CAPTURE(width);
  CAPTURE(height);
  const auto seed = static_cast<unsigned>(width * 1000 + height);
  const Bytes data = encode(kind, width, height, seed);
  const auto whole = decode_whole(data);
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  REQUIRE(decoder.frame().width == width);
  REQUIRE(decoder.frame().height == height);
  BoxMaker boxes(width, height, seed + static_cast<unsigned>(kind.restart_interval));
  for (int i = 0; i < num_boxes; ++i) {
    const Box box = boxes.next();
    CAPTURE(box.top);
    CAPTURE(box.left);
    CAPTURE(box.height);
    CAPTURE(box.width);
    ConstImageView view;
    REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
    REQUIRE(count_wrong(view, whole, box) == 0);
    ++counts->boxes;
    counts->spliced += was_spliced(decoder);
  }
}

}  // namespace

TEST_CASE("spliced: sizes of every remainder, every sampling, intervals up to two rows") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  decoder.set_splicing(Splicing::kWhenPossible);
  Counts counts;
  std::uint64_t state = 3;
  for (Kind kind : kinds_to_splice()) {
    for (int width = 1; width <= 96; ++width) {
      const int height = 1 + (width * 37) % 97;  // each of 1..97 but one
      kind.restart_interval = random_interval(units_in_row(kind, width), state);
      check_boxes(decoder, kind, width, height, 5, &counts);
    }
  }
  CHECK(counts.boxes > 9000);
  CHECK(counts.spliced > counts.boxes * 3 / 4);
}

TEST_CASE("spliced: the pictures of one to six pixels a side") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  decoder.set_splicing(Splicing::kWhenPossible);
  Counts counts;
  for (Kind kind : kinds_to_splice()) {
    for (int side = 1; side <= 6; ++side) {
      for (const int interval : {1, 2, 3}) {
        kind.restart_interval = interval;
        check_boxes(decoder, kind, side, 7 - side, 1, &counts);
        check_boxes(decoder, kind, 90, side, 2, &counts);
        check_boxes(decoder, kind, side, 90, 2, &counts);
      }
    }
  }
  CHECK(counts.spliced > 1000);
}

TEST_CASE("spliced: larger pictures, as it is done when it saves work") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  Counts counts;
  int number = 0;
  for (Kind kind : kinds_to_splice()) {
    kind.restart_interval = 1 << number % 3;
    check_boxes(decoder, kind, number++ % 2 == 0 ? 256 : 253, 190, 12, &counts);
  }
  CHECK(counts.spliced > counts.boxes / 2);
  CHECK(counts.spliced < counts.boxes);
}

TEST_CASE("spliced: each first and last row and column of a box") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  decoder.set_splicing(Splicing::kWhenPossible);
  for (const dts::testing::Sampling& sampling :
       {dts::testing::Sampling{{2, 2}, {1, 1}, {1, 1}}, {{2, 1}, {1, 1}, {1, 1}}}) {
    for (const int width : {80, 79}) {
      const Bytes data =
          encode({.name = "", .sampling = sampling, .restart_interval = 1}, width, 64);
      const auto whole = decode_whole(data);
      REQUIRE(decoder.open(data) == DecodeStatus::kOk);
      const auto check = [&](const Box& box) {
        ConstImageView view;
        REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
        REQUIRE(was_spliced(decoder));
        REQUIRE(count_wrong(view, whole, box) == 0);
      };
      for (std::int64_t at = 0; at < 64; ++at) {
        CAPTURE(at);
        check({at, 30, 1, 20});
        check({at, 30, 64 - at, 20});
        check({0, 30, at + 1, 20});
        check({20, at, 20, 1});
        check({20, at, 20, width - at});
        check({20, 0, 20, at + 1});
      }
    }
  }
}

TEST_CASE("spliced: gray, boxes in turn, other files between") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  Kind kind{.name = "gray", .sampling = {{2, 2}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  kind.restart_interval = 2;
  const Bytes gray = encode(kind, 160, 121);
  const Bytes other = encode({.name = "no restarts"}, 100, 90);
  ConstImageView view;
  for (int round = 0; round < 3; ++round) {
    REQUIRE(decoder.open(gray) == DecodeStatus::kOk);
    CHECK(decoder.frame().is_gray);
    CHECK_FALSE(was_spliced(decoder));
    const Box box = {70, 81, 40, 33};
    REQUIRE(decoder.decode(box, true, &view) == DecodeStatus::kOk);
    CHECK(was_spliced(decoder));
    CHECK(count_wrong(view, decode_whole(gray, true), box) == 0);
    REQUIRE(decoder.decode({0, 0, 121, 160}, false, &view) == DecodeStatus::kOk);
    CHECK_FALSE(was_spliced(decoder));
    CHECK(count_wrong(view, decode_whole(gray), {0, 0, 121, 160}) == 0);
    REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
    CHECK(was_spliced(decoder));
    CHECK(count_wrong(view, decode_whole(gray), box) == 0);

    REQUIRE(decoder.open(other) == DecodeStatus::kOk);
    REQUIRE(decoder.decode({50, 50, 20, 20}, false, &view) == DecodeStatus::kOk);
    CHECK_FALSE(was_spliced(decoder));
    CHECK(count_wrong(view, decode_whole(other), {50, 50, 20, 20}) == 0);
  }
  // Memory given back between opening and decoding.
  REQUIRE(decoder.open(gray) == DecodeStatus::kOk);
  decoder.shrink(0);
  REQUIRE(decoder.decode({70, 81, 40, 33}, false, &view) == DecodeStatus::kOk);
  CHECK(count_wrong(view, decode_whole(gray), {70, 81, 40, 33}) == 0);
  decoder.set_splicing(Splicing::kNever);
  REQUIRE(decoder.open(gray) == DecodeStatus::kOk);
  REQUIRE(decoder.decode({70, 81, 40, 33}, false, &view) == DecodeStatus::kOk);
  CHECK_FALSE(was_spliced(decoder));
}

TEST_CASE("spliced: thumbnails, fill bytes and other intervals before the one that counts") {
  const Kind kind{.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .restart_interval = 2};
  Bytes data = encode(kind, 160, 121);
  const auto whole = decode_whole(data);
  data = with_inserted(data, restarts_at(data)[3], {0xFF, 0xFF, 0xFF});
  data = with_inserted(data, restarts_at(data)[30], {0xFF});
  data = with_inserted(data, segment_at(data, 0xC0), {0xFF, 0xDD, 0, 4, 0, 3});
  const Bytes small = encode({.name = "", .restart_interval = 1}, 40, 40);
  const auto length = static_cast<int>(small.size() + 2);
  data = with_inserted(data, 2, {0xFF, 0xE1, length / 256, length % 256});
  data.insert(data.begin() + 6, small.begin(), small.end());
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kLibjpeg);
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  for (const Box& box : {Box{1, 1, 30, 30}, Box{60, 70, 60, 80}, Box{100, 0, 21, 160}}) {
    ConstImageView view;
    REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
    CHECK(was_spliced(decoder));
    CHECK(count_wrong(view, whole, box) == 0);
  }
}
