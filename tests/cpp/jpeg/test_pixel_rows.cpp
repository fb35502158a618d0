// SPDX-License-Identifier: Apache-2.0
#include "jpeg/pixel_rows.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "jpeg/boxes.h"
#include "jpeg/coefficient_file.h"

using dts::Box;
using dts::PixelRows;
using dts::testing::BoxMaker;
using dts::testing::Bytes;
using dts::testing::CoefficientFile;
using dts::testing::count_wrong;
using dts::testing::decode_whole;
using dts::testing::Decoded;
using dts::testing::encode;
using dts::testing::Kind;
using dts::testing::next_random;

namespace {

std::vector<Kind> kinds() {
  return {{.name = "444"},
          {.name = "422", .sampling = {{2, 1}, {1, 1}, {1, 1}}},
          {.name = "420", .sampling = {{2, 2}, {1, 1}, {1, 1}}},
          {.name = "440", .sampling = {{1, 2}, {1, 1}, {1, 1}}},
          {.name = "444 as 2x1", .sampling = {{2, 1}, {2, 1}, {2, 1}}},
          {.name = "440 as 2x2", .sampling = {{2, 2}, {2, 1}, {2, 1}}},
          {.name = "422 as 4x1", .sampling = {{4, 1}, {2, 1}, {2, 1}}},
          {.name = "gray", .sampling = {{2, 2}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE}};
}

std::vector<dts::SimdLevel> levels() {
  std::vector<dts::SimdLevel> levels = {dts::SimdLevel::kGeneric};
  if (dts::best_simd_level() > levels.back()) levels.push_back(dts::best_simd_level());
  return levels;
}

// `num_boxes` boxes of the picture, at each level, as decoded by libjpeg.
void check_boxes(const Bytes& data, int num_boxes, std::uint64_t seed, bool as_gray = false) {
  const Decoded whole = decode_whole(data, as_gray);
  CoefficientFile file(data);
  REQUIRE(PixelRows::can_decode(file.geometry()));
  for (const dts::SimdLevel level : levels()) {
    PixelRows rows(level);
    CAPTURE(dts::simd_level_name(level));
    BoxMaker boxes(whole.width, whole.height, seed);
    for (int i = 0; i < num_boxes; ++i) {
      const Box box = i == 0 ? Box{0, 0, whole.height, whole.width} : boxes.next();
      CAPTURE(box.top);
      CAPTURE(box.left);
      CAPTURE(box.height);
      CAPTURE(box.width);
      const dts::ConstImageView pixels = file.decode(rows, box, as_gray, i % 2 == 0);
      REQUIRE(count_wrong(pixels, whole, box) == 0);
      REQUIRE(rows.num_finished() == box.height);
    }
  }
}

}  // namespace

TEST_CASE("rows of pixels: boxes of pictures of every width and height") {
  for (Kind kind : kinds()) {
    CAPTURE(kind.name);
    for (int size = 1; size <= 70; ++size) {
      // Each width once and each height once.
      const int other = (size * 37) % 70 + 1;
      CAPTURE(size);
      kind.quality = 1 + (size * 29) % 100;
      check_boxes(encode(kind, size, other, static_cast<unsigned>(size)), 6,
                  static_cast<std::uint64_t>(size));
    }
  }
}

TEST_CASE("rows of pixels: many boxes of one picture") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    check_boxes(encode(kind, 203, 149), 60, 5);
  }
}

TEST_CASE("rows of pixels: pictures as narrow as smooth chroma ends") {
  for (const Kind& kind : kinds()) {
    CAPTURE(kind.name);
    for (int width = 1; width <= 7; ++width) {
      CAPTURE(width);
      check_boxes(encode(kind, width, 37), 12, 9);
    }
  }
}

TEST_CASE("rows of pixels: gray as one channel") {
  check_boxes(encode(kinds().back(), 61, 43), 20, 3, true);
}

namespace {

std::int16_t random_between(std::uint64_t& state, int low, int high) {
  return static_cast<std::int16_t>(
      low + static_cast<int>(next_random(state, static_cast<unsigned>(high - low + 1))));
}

// Whatever Huffman codes hold, in few or many places, of the whole block or of its first row.
[[maybe_unused]] void put_extremes(std::int16_t* block, int, std::uint64_t& state) {
  const unsigned shape = next_random(state, 5);
  const unsigned rarely = 1 + next_random(state, 12);
  std::fill_n(block, 64, std::int16_t{0});
  for (int i = 1; i < 64; ++i) {
    const bool is_inside = shape == 0 || (shape == 1 && i < 8) || (shape == 2 && i % 8 == 0) ||
                           (shape == 3 && i % 8 < 4 && i < 32);
    if (is_inside && next_random(state, rarely) == 0) block[i] = random_between(state, -1023, 1023);
  }
  block[0] = random_between(state, -1023, 1023);
}

void put_small_corner(std::int16_t* block, int, std::uint64_t& state) {
  const unsigned side = 1 + next_random(state, 8);
  std::fill_n(block, 64, std::int16_t{0});
  for (unsigned v = 0; v < side; ++v) {
    for (unsigned u = 0; u < side - v; ++u) block[8 * v + u] = random_between(state, -30, 30);
  }
}

}  // namespace

TEST_CASE("rows of pixels: coefficients no picture has") {
  for (Kind kind : kinds()) {
    CAPTURE(kind.name);
    for (const int quality : {1, 40, 80, 100}) {
      CAPTURE(quality);
      kind.quality = quality;  // the products with the table at 1 leave 16 bits
      const Bytes data = encode(kind, 131, 97);
#if defined(__x86_64__)  // elsewhere libjpeg-turbo's code wraps and saturates in other places
      check_boxes(dts::testing::with_changed_blocks(data, put_extremes, 3), 5, 21);
#endif
      check_boxes(dts::testing::with_changed_blocks(data, put_small_corner, 4), 5, 22);
    }
  }
}

TEST_CASE("rows of pixels: no more MCUs than the box needs") {
  dts::JpegGeometry geometry;
  geometry.width = 200;
  geometry.height = 100;
  geometry.num_components = 3;
  geometry.horizontal = geometry.vertical = {2, 1, 1};
  const auto needed = [&](const Box& box) { return PixelRows::needed_mcus(geometry, box); };
  // At the edges of MCUs chroma looks over them, inside it does not.
  CHECK(needed({16, 32, 16, 16}) == dts::McuRange{1, 4, 0, 3});
  CHECK(needed({17, 33, 14, 14}) == dts::McuRange{2, 3, 1, 2});
  CHECK(needed({0, 0, 1, 1}) == dts::McuRange{0, 1, 0, 1});
  CHECK(needed({99, 199, 1, 1}) == dts::McuRange{12, 13, 6, 7});
  CHECK(needed({0, 0, 100, 200}) == dts::McuRange{0, 13, 0, 7});
  geometry.vertical = {1, 1, 1};
  CHECK(needed({16, 32, 16, 16}) == dts::McuRange{1, 4, 2, 4});
  geometry.horizontal = {1, 1, 1};
  CHECK(needed({16, 32, 16, 16}) == dts::McuRange{4, 6, 2, 4});
}

TEST_CASE("rows of pixels: rows are finished as soon as they can be") {
  const Bytes data = encode({.name = "420", .sampling = {{2, 2}, {1, 1}, {1, 1}}}, 64, 64);
  const Decoded whole = decode_whole(data);
  CoefficientFile file(data);
  PixelRows rows;
  const Box box = {3, 5, 50, 40};
  rows.begin(file.geometry(), file.tables(), box);
  REQUIRE(rows.range() == dts::McuRange{0, 3, 0, 4});
  // The last row of an MCU waits for the chroma below it.
  const std::array<std::int64_t, 4> expected = {12, 28, 44, 50};
  for (std::int64_t y = 0; y < 4; ++y) {
    CHECK(rows.num_finished() == (y == 0 ? 0 : expected[static_cast<std::size_t>(y - 1)]));
    const std::int64_t count = rows.add_row(file.row(rows.range(), y));
    REQUIRE(count == expected[static_cast<std::size_t>(y)]);
    dts::ConstImageView part = rows.pixels();
    part.height = count;
    REQUIRE(count_wrong(part, whole, {3, 5, count, 40}) == 0);
  }
}

TEST_CASE("rows of pixels: other samplings and rows that don't fit are refused") {
  dts::JpegGeometry geometry;
  geometry.width = geometry.height = 40;
  geometry.num_components = 3;
  const auto accepts = [&](std::array<int, 3> horizontal, std::array<int, 3> vertical) {
    geometry.horizontal = horizontal;
    geometry.vertical = vertical;
    return PixelRows::can_decode(geometry);
  };
  CHECK(accepts({2, 1, 1}, {2, 1, 1}));
  CHECK_FALSE(accepts({4, 1, 1}, {1, 1, 1}));
  CHECK_FALSE(accepts({1, 2, 2}, {1, 1, 1}));
  CHECK_FALSE(accepts({2, 1, 2}, {1, 1, 1}));
  CHECK_FALSE(accepts({3, 1, 1}, {1, 1, 1}));
  CHECK_FALSE(accepts({2, 1, 1}, {2, 1, 2}));
  geometry.num_components = 4;
  CHECK_FALSE(accepts({1, 1, 1}, {1, 1, 1}));

  CoefficientFile file(encode({}, 40, 40));
  PixelRows rows;
  rows.begin(file.geometry(), file.tables(), {0, 0, 8, 24});
  CHECK_THROWS_WITH_AS(rows.add_row(file.row({0, 2, 0, 1}, 0)),
                       "coefficients of row 0 of MCUs don't fit the box: expected columns 0 to 3 "
                       "of rows up to 1",
                       dts::InvalidArgument);
  CHECK(rows.add_row(file.row(rows.range(), 0)) == 8);
  CHECK_THROWS_AS(rows.add_row(file.row(rows.range(), 1)), dts::InvalidArgument);
}

TEST_CASE("rows of pixels: memory is kept and given back") {
  CoefficientFile file(encode({.name = "420", .sampling = {{2, 2}, {1, 1}, {1, 1}}}, 90, 70));
  PixelRows rows;
  CHECK(rows.held_bytes() == 0);
  file.decode(rows, {0, 0, 70, 90});
  const std::size_t held = rows.held_bytes();
  CHECK(held >= 70 * 90 * 3);
  file.decode(rows, {3, 4, 50, 60});
  CHECK(rows.held_bytes() == held);
  rows.release();
  CHECK(rows.held_bytes() == 0);
}
