// SPDX-License-Identifier: Apache-2.0
#include "jpeg/decode_cost.h"

#include <doctest/doctest.h>

#include <vector>

#include "jpeg/decode.h"
#include "jpeg/encoder.h"
#include "support.h"

namespace {

using dts::Box;
using dts::decode_cost;
using dts::JpegDecoder;
using dts::JpegGeometry;

constexpr std::int64_t kSkip = 4, kRead = 7, kEach = 40;

// 10 x 6 MCUs of 16 x 16 pixels.
JpegGeometry halved() { return {160, 96, 3, {2, 1, 1}, {2, 1, 1}}; }

std::int64_t cost(const std::vector<Box>& boxes, std::int64_t interval) {
  return decode_cost(halved(), interval, boxes);
}

bool is_quicker_alone(const dts::testing::Bytes& data, dts::JpegReader reader,
                      const std::vector<Box>& boxes, const Box& around) {
  JpegDecoder decoder;
  decoder.set_reader(reader);
  REQUIRE(decoder.open(data) == dts::DecodeStatus::kOk);
  return decoder.is_quicker_alone(boxes, around);
}

}  // namespace

TEST_CASE("decode cost: one box, with and without restart markers") {
  CHECK(cost({}, 0) == 0);
  CHECK(cost({{0, 0, 96, 160}}, 0) == kEach + 60 * kRead);
  // Rows 2 and 3, columns 3 to 6: what is before each row is skipped.
  const Box inner = {33, 49, 30, 62};
  CHECK(cost({inner}, 0) == kEach + 8 * kRead + (23 + 6) * kSkip);
  // Only from the marker at column 2, or 0.
  CHECK(cost({inner}, 2) == kEach + 8 * kRead + 2 * 1 * kSkip);
  CHECK(cost({inner}, 10) == kEach + 8 * kRead + 2 * 3 * kSkip);
  CHECK(cost({inner}, 20) == kEach + 8 * kRead + (3 + 6) * kSkip);
  // A pixel more on each side, which chroma looks at, reaches the next MCUs.
  CHECK(cost({{32, 48, 32, 64}}, 0) == kEach + 4 * 6 * kRead + (12 + 3 * 4) * kSkip);
  CHECK(cost({{0, 0, 1, 1}, {95, 159, 1, 1}}, 1) == 2 * kEach + 2 * kRead);
}

TEST_CASE("decode cost: boxes one after the other") {
  const Box upper = {1, 1, 14, 14}, lower = {81, 145, 14, 14};
  CHECK(cost({upper, lower}, 0) == 2 * kEach + 2 * kRead + 58 * kSkip);  // it goes on
  CHECK(cost({lower, upper}, 0) == 2 * kEach + 2 * kRead + 59 * kSkip);  // it begins anew
  CHECK(cost({lower, lower}, 0) == 2 * kEach + 2 * kRead + 2 * 59 * kSkip);
  CHECK(cost({lower, upper, lower}, 10) == 3 * kEach + 3 * kRead + 2 * 9 * kSkip);
}

TEST_CASE("boxes far apart are decoded alone, others together, and always where libjpeg decodes") {
  const dts::testing::Sampling halved_chroma = {{2, 2}, {1, 1}, {1, 1}};
  const auto plain =
      dts::testing::encode({.name = "plain", .sampling = halved_chroma}, 320, 240, 1);
  const auto restart = dts::testing::encode(
      {.name = "restart", .sampling = halved_chroma, .restart_interval = 4}, 320, 240, 1);
  const auto progressive = dts::testing::encode(
      {.name = "progressive", .sampling = halved_chroma, .progressive = true}, 320, 240, 1);
  const std::vector<Box> corners = {{0, 0, 60, 60}, {180, 260, 60, 60}};
  const std::vector<Box> near_bottom = {{180, 0, 60, 150}, {180, 160, 60, 160}};
  const std::vector<Box> overlapping = {{0, 0, 200, 300}, {40, 20, 200, 300}};
  const Box all = {0, 0, 240, 320}, lower = {180, 0, 60, 320};
  const auto own = dts::JpegReader::kOwn;
  CHECK(is_quicker_alone(plain, own, corners, all));
  CHECK(is_quicker_alone(restart, own, corners, all));
  CHECK_FALSE(is_quicker_alone(plain, own, near_bottom, lower));
  CHECK_FALSE(is_quicker_alone(restart, own, near_bottom, lower));
  CHECK_FALSE(is_quicker_alone(plain, own, overlapping, all));
  CHECK_FALSE(is_quicker_alone(restart, own, overlapping, all));
  CHECK_FALSE(is_quicker_alone(progressive, own, corners, all));
  CHECK_FALSE(is_quicker_alone(plain, dts::JpegReader::kLibjpeg, corners, all));
  CHECK_FALSE(JpegDecoder().is_quicker_alone(corners, all));
}
