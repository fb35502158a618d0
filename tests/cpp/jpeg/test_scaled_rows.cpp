// SPDX-License-Identifier: Apache-2.0
// Pixels at a part of the size, through the crop decoder: boxes against the whole, one level
// against the other, and both against libjpeg's own small decoding and its exact one.
#include "jpeg/scaled_rows.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "jpeg/boxes.h"
#include "jpeg/coefficient_checks.h"
#include "jpeg/crop_decoder.h"
#include "jpeg/edit.h"
#include "support.h"

namespace dts::testing {
namespace {

Decoded copied(const ConstImageView& view) {
  Decoded whole;
  whole.width = view.width;
  whole.height = view.height;
  whole.channels = view.channels;
  for (std::int64_t y = 0; y < view.height; ++y) {
    whole.pixels.insert(whole.pixels.end(), view.row(y), view.row(y) + view.width * view.channels);
  }
  return whole;
}

Decoded whole_of(CropDecoder& decoder, int halvings, bool as_gray = false) {
  const JpegGeometry& geometry = decoder.geometry();
  ConstImageView view;
  REQUIRE(decoder.decode_scaled(
      {0, 0, scaled_side(geometry.height, halvings), scaled_side(geometry.width, halvings)},
      halvings, as_gray, &view));
  return copied(view);
}

void check_boxes(CropDecoder& decoder, CropDecoder& generic, const Bytes& data, int num_boxes) {
  REQUIRE(decoder.open(data));
  REQUIRE(generic.open(data));
  for (int halvings = 1; halvings <= kMaxHalvings; ++halvings) {
    CAPTURE(halvings);
    const Decoded whole = whole_of(decoder, halvings);
    REQUIRE(whole.pixels == whole_of(generic, halvings).pixels);
    BoxMaker boxes(whole.width, whole.height, static_cast<std::uint64_t>(halvings));
    for (int i = 0; i < num_boxes; ++i) {
      const Box box = boxes.next();
      CAPTURE(box.top);
      CAPTURE(box.left);
      CAPTURE(box.height);
      CAPTURE(box.width);
      ConstImageView view;
      REQUIRE(decoder.decode_scaled(box, halvings, false, &view));
      REQUIRE(count_wrong(view, whole, box) == 0);
    }
  }
}

double mean_difference(const Decoded& a, const Decoded& b) {
  REQUIRE(a.pixels.size() == b.pixels.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) sum += std::abs(a.pixels[i] - b.pixels[i]);
  return sum / static_cast<double>(a.pixels.size());
}

// Averages of the squares of an exact decode that lie wholly inside of it.
double mean_difference_of_averages(const Decoded& small, const Decoded& exact, int halvings) {
  const std::int64_t side = std::int64_t{1} << halvings;
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t y = 0; y < exact.height / side; ++y) {
    for (std::int64_t i = 0; i < exact.width / side * 3; ++i) {
      double average = 0;
      for (std::int64_t k = 0; k < side * side; ++k) {
        const std::int64_t row = y * side + k / side, column = i / 3 * side + k % side;
        average += exact.pixels[static_cast<std::size_t>((row * exact.width + column) * 3 + i % 3)];
      }
      average /= static_cast<double>(side * side);
      sum += std::abs(average - small.pixels[static_cast<std::size_t>(y * small.width * 3 + i)]);
      ++count;
    }
  }
  return sum / static_cast<double>(count);
}

}  // namespace

TEST_CASE("scaled rows: boxes equal those of the whole, at each level, for every sampling") {
  CropDecoder decoder, generic(SimdLevel::kGeneric);
  std::uint64_t state = 4;
  for (Kind kind : baseline_kinds()) {
    CAPTURE(kind.name);
    for (int width = 1; width <= 70; width += 3) {
      const int height = 1 + (width * 37) % 70;
      CAPTURE(width);
      kind.quality = 1 + static_cast<int>(next_random(state, 100));
      kind.restart_interval = static_cast<int>(next_random(state, 6));
      check_boxes(decoder, generic, encode(kind, width, height, static_cast<unsigned>(width)), 3);
    }
    check_boxes(decoder, generic, encode(kind, 203, 149), 12);
  }
}

TEST_CASE("scaled rows: near to libjpeg's small decoding, and to averages of its exact one") {
  CropDecoder decoder;
  for (const Kind& kind : baseline_kinds()) {
    CAPTURE(kind.name);
    const Bytes data = encode(kind, 203, 149);
    REQUIRE(decoder.open(data));
    const Decoded exact = decode_whole(data);
    for (int halvings = 1; halvings <= kMaxHalvings; ++halvings) {
      CAPTURE(halvings);
      const Decoded small = whole_of(decoder, halvings);
      const Decoded other = decode_whole(data, false, halvings);
      // The picture has noise everywhere, of which averages leave less.
      CHECK(mean_difference(small, other) < 20.0);
      CHECK(mean_difference_of_averages(small, exact, halvings) < 20.0);
      // One sample of a block is its average in any case.
      const bool is_one = kind.name == "444" || kind.name.find("gray") == 0;
      if (halvings == kMaxHalvings && is_one) CHECK(mean_difference(small, other) == 0.0);
    }
  }
}

TEST_CASE("scaled rows: gray as one channel, and three equal ones") {
  CropDecoder decoder;
  const Kind gray{
      .name = "", .sampling = {{2, 2}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  const Bytes data = encode(gray, 157, 121);
  REQUIRE(decoder.open(data));
  for (int halvings = 1; halvings <= kMaxHalvings; ++halvings) {
    const Decoded one = whole_of(decoder, halvings, true), three = whole_of(decoder, halvings);
    CHECK(one.channels == 1);
    REQUIRE(three.pixels.size() == 3 * one.pixels.size());
    for (std::size_t i = 0; i < three.pixels.size(); ++i) {
      REQUIRE(three.pixels[i] == one.pixels[i / 3]);
    }
  }
}

TEST_CASE("scaled rows: exact boxes between small ones, memory, damage") {
  CropDecoder decoder;
  const Kind k420{.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .restart_interval = 2};
  const Bytes good = encode(k420, 157, 121);
  const Decoded exact = decode_whole(good);
  REQUIRE(decoder.open(good));
  const Decoded half = whole_of(decoder, 1);
  ConstImageView view;
  REQUIRE(decoder.decode({0, 0, 121, 157}, false, &view));
  CHECK(count_wrong(view, exact, {0, 0, 121, 157}) == 0);
  CHECK(whole_of(decoder, 1).pixels == half.pixels);
  const std::size_t held = decoder.held_bytes();
  for (int halvings = 1; halvings <= 3; ++halvings) whole_of(decoder, halvings);
  CHECK(decoder.held_bytes() == held);

  const auto restarts = restarts_at(good);
  const Bytes bad = without(good, restarts[6] + 3, restarts[7]);
  REQUIRE(decoder.open(bad));
  CHECK_FALSE(decoder.decode_scaled({0, 0, 61, 79}, 1, false, &view));
  CHECK(decoder.decode_scaled({10, 55, 2, 2}, 1, false, &view));
  decoder.release();
  CHECK(decoder.held_bytes() == 0);
  CHECK_FALSE(decoder.decode_scaled({0, 0, 1, 1}, 1, false, &view));
}

TEST_CASE("scaled rows: rows that don't fit are refused") {
  ScaledRows rows;
  JpegGeometry geometry{.width = 64, .height = 32, .num_components = 1};
  const std::array<std::uint16_t, 64> table = {};
  rows.begin(geometry, {table.data()}, {0, 0, 16, 32}, 1);
  CHECK(rows.range() == McuRange{0, 8, 0, 4});
  CHECK(rows.num_kept()[0] == 25);
  const auto error = thrown<InvalidArgument>([&] { rows.add_row({}); });
  CHECK(std::string(error.what()) ==
        "coefficients of row 0 of MCUs don't fit the box: expected columns 0 to 8 of rows up to 4");
}

TEST_CASE("scaled rows: changed bytes give one verdict and the same pixels at each level") {
  CropDecoder decoder, generic(SimdLevel::kGeneric);
  std::uint64_t state = 10;
  int num_read = 0, num_refused = 0;
  for (Kind kind : baseline_kinds()) {
    for (const int interval : {0, 1, 4}) {
      kind.restart_interval = interval;
      kind.quality = interval == 4 ? 100 : 70;
      const Bytes data = encode(kind, 83, 61);
      for (int round = 0; round < 60; ++round) {
        const Bytes changed = mutate(data, state);
        if (!decoder.open(changed)) continue;
        REQUIRE(generic.open(changed));
        const JpegGeometry& geometry = decoder.geometry();
        if (geometry.width * geometry.height > 1 << 16) continue;
        const int halvings = 1 + round % 3;
        BoxMaker boxes(scaled_side(geometry.width, halvings),
                       scaled_side(geometry.height, halvings), static_cast<std::uint64_t>(round));
        const Box box = boxes.next();
        ConstImageView found, expected, exact;
        const bool is_read = decoder.decode_scaled(box, halvings, false, &found);
        REQUIRE(is_read == generic.decode_scaled(box, halvings, false, &expected));
        if (is_read) REQUIRE(copied(found).pixels == copied(expected).pixels);
        ++(is_read ? num_read : num_refused);
      }
    }
  }
  CHECK(num_read > 300);
  CHECK(num_refused > 100);
}

}  // namespace dts::testing
