// SPDX-License-Identifier: Apache-2.0
// Which files can be cut, and what a cut part is. Its pixels: test_decode_splice.cpp.
#include "jpeg/splice.h"

#include <doctest/doctest.h>

#include "jpeg/edit.h"
#include "jpeg/restart_scan.h"

namespace {

using dts::Box;
using dts::ConstByteSpan;
using dts::Splicer;
using dts::testing::Bytes;
using dts::testing::coded_at;
using dts::testing::encode;
using dts::testing::Kind;
using dts::testing::restarts_at;
using dts::testing::segment_at;
using dts::testing::with_inserted;
using dts::testing::with_value;
using dts::testing::without;

const dts::testing::Sampling kHalf = {{2, 2}, {1, 1}, {1, 1}};

// 20 units of 16 x 16 wide.
Bytes photo(int interval, int height = 235) {
  return encode({.name = "420", .sampling = kHalf, .restart_interval = interval}, 317, height);
}

bool opens(const Bytes& data) {
  Splicer splicer;
  const bool is_open = splicer.open(data);
  CHECK(splicer.is_open() == is_open);
  if (!is_open) CHECK_FALSE(splicer.cut({0, 0, 1, 1}, true));
  return is_open;
}

struct PartFacts {
  std::int64_t width, height;
  Box box;
  bool operator==(const PartFacts&) const = default;
};

// Of the part for `box`, which is a complete JPEG of its own.
PartFacts part_of(Splicer& splicer, const Box& box, bool even_if_slower = true) {
  const auto part = splicer.cut(box, even_if_slower);
  if (!part) return {};
  const Bytes data(part->data.begin(), part->data.end());
  Splicer again;
  const std::size_t coded = coded_at(data);
  std::vector<std::byte> copy;
  const auto header = dts::read_splice_header(data, copy);
  REQUIRE(header);
  // Its restart markers count from 0, its EOI is its end.
  std::vector<std::uint32_t> restarts(restarts_at(data).size());
  const auto end = dts::find_restarts(ConstByteSpan(data).subspan(coded), restarts);
  REQUIRE(end);
  CHECK(coded + *end + 2 == data.size());
  return {header->width, header->height, part->box};
}

}  // namespace

TEST_CASE("the interval must divide a row's units or be a multiple of them") {
  for (int interval = 1; interval <= 59; ++interval) {
    CAPTURE(interval);
    CHECK(opens(photo(interval, 47)) == (20 % interval == 0 || interval % 20 == 0));
  }
  CHECK_FALSE(opens(photo(60, 47)));  // a single segment
  CHECK_FALSE(opens(photo(80, 47)));
  CHECK_FALSE(opens(photo(0, 47)));
  // A thumbnail's frame would say otherwise.
  const Bytes small = encode({.name = "", .restart_interval = 3}, 24, 24);
  Bytes data = with_inserted(photo(4), 2,
                             {0xFF, 0xE1, static_cast<int>((small.size() + 2) / 256),
                              static_cast<int>((small.size() + 2) % 256)});
  data.insert(data.begin() + 6, small.begin(), small.end());
  CHECK(opens(data));
}

TEST_CASE("markers other than restarts in their order and EOI are refused") {
  const Bytes good = photo(4);
  const auto restarts = restarts_at(good);
  REQUIRE(restarts.size() == 74);
  CHECK(opens(good));
  CHECK(opens(with_inserted(good, restarts[7], {0xFF, 0xFF})));  // fill bytes
  CHECK(opens(with_inserted(good, good.size() - 2, {0xFF})));
  CHECK(opens(with_inserted(good, good.size(), {1, 2, 3})));

  CHECK_FALSE(opens(without(good, good.size() - 2, good.size())));  // no EOI
  CHECK_FALSE(opens(with_value(good, good.size() - 1, 0)));
  CHECK_FALSE(opens(with_value(good, restarts[9] + 1, 0xD2)));             // out of turn
  CHECK_FALSE(opens(without(good, restarts[3], restarts[4])));             // lost
  CHECK_FALSE(opens(with_value(good, restarts[73] + 1, 0)));               // the last one
  CHECK_FALSE(opens(with_inserted(good, good.size() - 2, {0xFF, 0xD2})));  // too many
  CHECK_FALSE(opens(with_inserted(good, restarts[0], {0xFF, 0xD0, 1, 2, 3})));
  for (const int marker : {0x01, 0xC4, 0xD8, 0xD9, 0xDA, 0xDB, 0xDC, 0xDD, 0xE0, 0xFE}) {
    CAPTURE(marker);
    const std::vector<int> segment = {0xFF, marker, 0, 4, 0, 235};
    CHECK_FALSE(opens(with_inserted(good, restarts[20], segment)));
    // DNL and tables for further scans stand here.
    CHECK(opens(with_inserted(good, good.size() - 2, segment)) == (marker == 0xD9));
  }
}

TEST_CASE("an interval that the number of units doesn't bear out is refused, without much memory") {
  // One restart for each unit of 65500 x 65500 pixels, says the header.
  Bytes data = photo(1);
  const std::size_t frame = segment_at(data, 0xC0);
  for (const std::size_t at : {5u, 7u}) {
    data = with_value(with_value(data, frame + at, 0xFF), frame + at + 1, 0xDC);
  }
  Splicer splicer;
  CHECK_FALSE(splicer.open(data));
  CHECK(splicer.held_bytes() < data.size());
}

TEST_CASE("a part is the segments under the box and a pixel around it, up to the true edges") {
  Splicer splicer;
  const Bytes short_ones = photo(4), rows = photo(60);
  REQUIRE(splicer.open(short_ones));  // segments of 64 x 16
  CHECK(splicer.header().width == 317);
  CHECK(splicer.header().height == 235);
  using Facts = PartFacts;
  CHECK(part_of(splicer, {100, 100, 40, 40}) == Facts{128, 48, {4, 36, 40, 40}});
  CHECK(part_of(splicer, {97, 65, 14, 62}) == Facts{64, 16, {1, 1, 14, 62}});
  CHECK(part_of(splicer, {96, 65, 14, 62}) == Facts{64, 32, {16, 1, 14, 62}});
  CHECK(part_of(splicer, {97, 64, 14, 62}) == Facts{128, 16, {1, 64, 14, 62}});
  CHECK(part_of(splicer, {97, 65, 15, 62}) == Facts{64, 32, {1, 1, 15, 62}});
  CHECK(part_of(splicer, {97, 65, 14, 63}) == Facts{128, 16, {1, 1, 14, 63}});
  CHECK(part_of(splicer, {0, 0, 1, 1}) == Facts{64, 16, {0, 0, 1, 1}});
  CHECK(part_of(splicer, {234, 316, 1, 1}) == Facts{61, 11, {10, 60, 1, 1}});
  CHECK(part_of(splicer, {0, 0, 235, 317}) == Facts{317, 235, {0, 0, 235, 317}});
  CHECK(part_of(splicer, {100, 0, 50, 317}) == Facts{317, 64, {4, 0, 50, 317}});

  REQUIRE(splicer.open(rows));  // segments of three rows
  CHECK(part_of(splicer, {50, 200, 40, 40}) == Facts{317, 48, {2, 200, 40, 40}});
  CHECK(part_of(splicer, {48, 200, 48, 40}) == Facts{317, 144, {48, 200, 48, 40}});
  CHECK(part_of(splicer, {230, 0, 5, 9}) == Facts{317, 43, {38, 0, 5, 9}});
}

TEST_CASE("a part is at least five pixels wide") {
  for (const int width : {65, 66, 67, 68, 69, 70}) {
    CAPTURE(width);
    Splicer splicer;
    const Bytes data = encode({.name = "444", .restart_interval = 1}, width, 40);
    REQUIRE(splicer.open(data));
    const PartFacts facts = part_of(splicer, {0, width - 1, 1, 1});
    const bool is_alone = width - 64 >= 5;
    CHECK(facts.width == width - (is_alone ? 64 : 56));
    CHECK(facts.box.left == facts.width - 1);
  }
  Splicer splicer;
  const Bytes narrow = encode({.name = "444", .restart_interval = 1}, 3, 40);
  REQUIRE(splicer.open(narrow));
  CHECK(part_of(splicer, {10, 1, 1, 1}).width == 3);
}

TEST_CASE("boxes that libjpeg reads as fast from the whole file are left to it") {
  Splicer splicer;
  const Bytes data = photo(4);
  REQUIRE(splicer.open(data));
  for (const Box& box : {Box{0, 0, 235, 317}, Box{0, 0, 10, 317}, Box{10, 10, 200, 300}}) {
    CHECK_FALSE(splicer.cut(box));
    CHECK(splicer.cut(box, true));
  }
  for (const Box& box : {Box{100, 0, 100, 317}, Box{0, 0, 235, 100}, Box{200, 300, 10, 10}}) {
    CHECK(splicer.cut(box));
  }
}

TEST_CASE("memory is used again, and given back when asked") {
  Splicer splicer;
  const std::vector<Bytes> photos = {photo(1), photo(4), photo(20), photo(2)};
  std::size_t held = 0;
  for (int round = 0; round < 3; ++round) {
    for (const Bytes& data : photos) {
      REQUIRE(splicer.open(data));
      REQUIRE(splicer.cut({0, 0, 235, 317}, true));
    }
    if (round == 0) held = splicer.held_bytes();
    CHECK(splicer.held_bytes() == held);
  }
  splicer.release();
  CHECK(splicer.held_bytes() == 0);
  CHECK_FALSE(splicer.is_open());
  CHECK_FALSE(splicer.cut({0, 0, 1, 1}, true));
  REQUIRE(splicer.open(photos[0]));
  CHECK(splicer.cut({0, 0, 1, 1}));
  splicer.close();
  CHECK_FALSE(splicer.cut({0, 0, 1, 1}, true));
}
