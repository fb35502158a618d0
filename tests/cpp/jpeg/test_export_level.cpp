// SPDX-License-Identifier: Apache-2.0
// The rule of sizes, and what is refused. Pillow's pixels:
// tests/_native/test_transcode_export.py.
#include "jpeg/export_level.h"

#include <string>

#include "base/error.h"
#include "jpeg/encoder.h"
#include "support.h"

namespace {

using dts::Box;
using dts::DecodeStatus;
using dts::Exported;
using dts::LevelExporter;
using dts::LevelSize;
using dts::testing::Bytes;
using dts::testing::encode;
using dts::testing::next_random;

void check_size(int level, std::int64_t width, std::int64_t height, const LevelSize& expected) {
  CAPTURE(level);
  CAPTURE(width);
  CAPTURE(height);
  const LevelSize size = dts::level_size(level, width, height);
  CHECK(size.width == expected.width);
  CHECK(size.height == expected.height);
  CHECK(size.window.left == expected.window.left);
  CHECK(size.window.top == expected.window.top);
  CHECK(size.window.width == expected.window.width);
  CHECK(size.window.height == expected.window.height);
}

const dts::testing::Sampling kHalf = {{2, 2}, {1, 1}, {1, 1}};

}  // namespace

TEST_CASE("short sides above the threshold become 400, in Python's rounding") {
  // Boxes: top, left, height, width.
  check_size(1, 400, 500, {400, 500, {0, 0, 500, 400}});
  check_size(1, 401, 500, {400, 498, {0, 0, 498, 400}});
  check_size(1, 500, 375, {500, 375, {0, 0, 375, 500}});
  check_size(1, 3000, 401, {2992, 400, {0, 0, 400, 2992}});
  check_size(2, 440, 500, {440, 500, {0, 20, 500, 400}});
  check_size(2, 441, 500, {400, 453, {0, 0, 453, 400}});
  // 539 * (400.0 / 539) is a little below 400 in doubles.
  check_size(1, 539, 539, {399, 399, {0, 0, 399, 399}});
}

TEST_CASE("levels 2 and 3 are cut to 600 x 400, or 400 x 600") {
  for (const int level : {2, 3}) {
    check_size(level, 1000, 300, {1000, 300, {0, 200, 300, 600}});
    check_size(level, 300, 1001, {300, 1001, {200, 0, 600, 300}});
    check_size(level, 430, 420, {430, 420, {10, 0, 400, 430}});
    check_size(level, 420, 420, {420, 420, {0, 10, 420, 400}});
    check_size(level, 2000, 1000, {800, 400, {0, 100, 400, 600}});
    check_size(level, 1, 1, {1, 1, {0, 0, 1, 1}});
  }
}

TEST_CASE("what is no level is refused") {
  for (const int level : {-1, 0, 4}) {
    const std::string message = "the level is " + std::to_string(level) + ", expected 1, 2 or 3";
    dts::testing::check_message<dts::InvalidArgument>([&] { dts::level_size(level, 9, 9); },
                                                      message);
    dts::testing::check_message<dts::InvalidArgument>([&] { dts::level_quality(level); }, message);
    LevelExporter exporter;
    Exported result;
    dts::testing::check_message<dts::InvalidArgument>([&] { exporter.run({}, level, 0, &result); },
                                                      message);
  }
  dts::testing::check_message<dts::InvalidArgument>([] { dts::level_size(1, 0, 5); },
                                                    "a picture of 0 x 5 pixels has no level");
}

TEST_CASE("colour and gray keep their mode; CMYK and bombs are left to Pillow") {
  LevelExporter exporter;
  Exported result;
  const Bytes colour = encode({.name = "", .sampling = kHalf}, 700, 450);
  REQUIRE(exporter.run(colour, 3, 0, &result) == DecodeStatus::kOk);
  CHECK(result.width == 600);
  CHECK(result.height == 400);
  dts::JpegDecoder decoder;
  REQUIRE(decoder.open(result.bytes) == DecodeStatus::kOk);
  CHECK(decoder.frame().width == 600);
  CHECK(decoder.frame().num_components == 3);
  dts::testing::Kind kind{
      .name = "", .sampling = {{1, 1}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  REQUIRE(exporter.run(encode(kind, 500, 450), 1, 0, &result) == DecodeStatus::kOk);
  REQUIRE(decoder.open(result.bytes) == DecodeStatus::kOk);
  CHECK(decoder.frame().is_gray);
  CHECK(exporter.run(dts::testing::odd_image("cmyk/cmyk_adobe.jpg"), 1, 0, &result) ==
        DecodeStatus::kUnsupported);
  CHECK(result.bytes.empty());
  CHECK(result.width == 0);
  CHECK(exporter.run(dts::testing::odd_image("size/bomb_65500.jpg"), 1, 0, &result) ==
        DecodeStatus::kUnsupported);
  CHECK(exporter.run({}, 1, 0, &result) == DecodeStatus::kNotJpeg);
}

TEST_CASE("changed bytes: refused, or a picture of the right size") {
  LevelExporter exporter;
  std::uint64_t state = 21;
  int num_done = 0;
  const Bytes whole[] = {encode({.name = "", .sampling = kHalf}, 150, 90),
                         encode({.name = "", .sampling = kHalf, .progressive = true}, 150, 90)};
  for (int round = 0; round < 400; ++round) {
    Bytes data = whole[round % 2];
    for (unsigned i = 0; i <= next_random(state, 3); ++i) {
      data[next_random(state, static_cast<unsigned>(data.size()))] =
          static_cast<std::byte>(next_random(state, 256));
    }
    dts::JpegDecoder decoder;
    // Large pictures only take time.
    if (decoder.open(data) != DecodeStatus::kOk ||
        decoder.frame().width * decoder.frame().height > 1 << 19) {
      continue;
    }
    const int level = 1 + round % 3;
    const LevelSize size = dts::level_size(level, decoder.frame().width, decoder.frame().height);
    Exported result;
    if (exporter.run(data, level, 0, &result) != DecodeStatus::kOk) {
      CHECK(result.bytes.empty());
      continue;
    }
    ++num_done;
    REQUIRE(decoder.open(result.bytes) == DecodeStatus::kOk);
    CHECK(decoder.frame().width == size.window.width);
    CHECK(decoder.frame().height == size.window.height);
  }
  CHECK(num_done > 100);
}
