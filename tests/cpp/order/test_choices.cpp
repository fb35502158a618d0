// SPDX-License-Identifier: Apache-2.0
#include "order/choices.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "order/vectors.h"

namespace {

using dts::Box;
using dts::ChoiceKey;
using dts::testing::choice_key;
using dts::testing::vectors;

std::vector<std::int64_t> numbers(const Box& box) {
  return {box.top, box.left, box.height, box.width};
}

Box resized_crop(const ChoiceKey& key, std::int64_t width, std::int64_t height) {
  return dts::choose_resized_crop(key, width, height, 0.08, 1.0, 3.0 / 4.0, 4.0 / 3.0);
}

}  // namespace

TEST_CASE("choose_resized_crop gives the known boxes, central fallback among them") {
  const auto& entries = vectors("order.json")["crop"];
  REQUIRE(entries.size() == 60);
  for (const auto& entry : entries) {
    const Box box = resized_crop(choice_key(entry), entry["w"].get<std::int64_t>(),
                                 entry["h"].get<std::int64_t>());
    CHECK(numbers(box) == dts::testing::int64s(entry["top_left_height_width"]));
  }
}

TEST_CASE("choose_gate gives the known flips") {
  const auto& entries = vectors("order.json")["flip"];
  REQUIRE(entries.size() == 60);
  for (const auto& entry : entries) {
    CHECK(dts::choose_gate(choice_key(entry), entry["p"].get<double>()) ==
          entry["flip"].get<bool>());
  }
}

TEST_CASE("choose_jitter gives the known orders and factors") {
  const auto& entries = vectors("order.json")["jitter"];
  REQUIRE(entries.size() == 60);
  for (const auto& entry : entries) {
    std::array<std::array<double, 2>, 4> ranges;
    const char* const names[] = {"brightness", "contrast", "saturation", "hue"};
    for (std::size_t i = 0; i < 4; ++i) {
      const double centre = i == 3 ? 0.0 : 1.0;
      const double width = entry[names[i]].get<double>();
      ranges[i] = {centre - width, centre + width};
    }
    const dts::Jitter jitter = dts::choose_jitter(choice_key(entry), ranges);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(jitter.order[i] == entry["order"][i].get<int>());
      CHECK(std::abs(jitter.factors[i] - entry["factors"][i].get<double>()) < 1e-12);
    }
  }
}

TEST_CASE("choose_erasing gives the known boxes") {
  const auto& entries = vectors("order.json")["erase"];
  REQUIRE(entries.size() == 60);
  for (const auto& entry : entries) {
    const std::optional<Box> box = dts::choose_erasing(
        choice_key(entry), entry["w"].get<std::int64_t>(), entry["h"].get<std::int64_t>(),
        entry["p"].get<double>(), 0.02, 0.33, 0.3, 3.3);
    REQUIRE(box.has_value() == !entry["box"].is_null());
    if (box) CHECK(numbers(*box) == dts::testing::int64s(entry["box"]));
  }
}

TEST_CASE("choose_crop gives the known places") {
  const auto& entries = vectors("order.json")["random_crop"];
  REQUIRE(entries.size() == 60);
  for (const auto& entry : entries) {
    const auto place = dts::choose_crop(
        choice_key(entry), entry["w"].get<std::int64_t>(), entry["h"].get<std::int64_t>(),
        entry["cw"].get<std::int64_t>(), entry["ch"].get<std::int64_t>());
    CHECK(place[0] == entry["top_left"][0].get<std::int64_t>());
    CHECK(place[1] == entry["top_left"][1].get<std::int64_t>());
  }
}

TEST_CASE("each part of the key has its own bits of the counter") {
  const ChoiceKey key = {
      .seed = 7, .epoch = 0xE, .index = 0xAB00000005, .view = 0x12, .occurrence = 0x34, .op = 0x56};
  CHECK(dts::draw(key, 0x78) == dts::philox4x32(7, {5, 0x003412AB, 0xE, 0x80560078}));
  ChoiceKey wrapped = key;
  wrapped.occurrence += 65536;
  CHECK(dts::draw(wrapped, 0x78) == dts::draw(key, 0x78));
}

TEST_CASE("gates of probability 0 and 1 never and always fire") {
  for (std::uint64_t index = 0; index < 1000; ++index) {
    CHECK_FALSE(dts::choose_gate({.index = index}, 0.0));
    CHECK(dts::choose_gate({.index = index}, 1.0));
  }
}

TEST_CASE("crops stay inside of the image, whatever its shape") {
  const std::array<std::array<std::int64_t, 2>, 6> sizes = {
      {{1, 1}, {1, 2000}, {2000, 1}, {2, 3}, {65535, 65535}, {640, 427}}};
  for (const auto& [width, height] : sizes) {
    for (std::uint64_t index = 0; index < 300; ++index) {
      const Box box = resized_crop({.seed = 3, .index = index}, width, height);
      CHECK(box.top >= 0);
      CHECK(box.left >= 0);
      CHECK(box.height >= 1);
      CHECK(box.width >= 1);
      CHECK(box.top + box.height <= height);
      CHECK(box.left + box.width <= width);
    }
  }
}

TEST_CASE("the central fallback keeps one pixel where torchvision would keep none") {
  CHECK(dts::choose_resized_crop({}, 1, 1, 0.5, 1.0, 4.0, 5.0) == Box{0, 0, 1, 1});
  CHECK(dts::choose_resized_crop({}, 9, 1, 2.0, 3.0, 0.001, 0.002) == Box{0, 4, 1, 1});
}

TEST_CASE("absurd scales end in the fallback, not in an overflow") {
  CHECK(dts::choose_resized_crop({}, 10, 10, 1e300, 1e301, 0.9, 1.1) == Box{0, 0, 10, 10});
  CHECK(dts::choose_resized_crop({}, 10, 10, NAN, NAN, 0.9, 1.1) == Box{0, 0, 10, 10});
  CHECK_FALSE(dts::choose_erasing({}, 10, 10, 1.0, 1e300, 1e301, 0.9, 1.1).has_value());
  CHECK_FALSE(dts::choose_erasing({}, 10, 10, 1.0, NAN, NAN, 0.9, 1.1).has_value());
}

TEST_CASE("choose_crop takes the whole image when it fits exactly, and every place else") {
  CHECK(dts::choose_crop({}, 32, 32, 32, 32) == std::array<std::int64_t, 2>{0, 0});
  std::array<int, 9> tops = {};
  for (std::uint64_t index = 0; index < 9000; ++index) {
    ++tops[static_cast<std::size_t>(dts::choose_crop({.index = index}, 40, 40, 32, 32)[0])];
  }
  // Standard deviation 29.8 around 1000.
  for (const int count : tops) CHECK(std::abs(count - 1000) < 135);
}

TEST_CASE("jitter orders are permutations, all 24 of them") {
  std::vector<std::array<int, 4>> seen;
  for (std::uint64_t index = 0; index < 1000; ++index) {
    seen.push_back(dts::choose_jitter({.index = index}, {}).order);
  }
  std::ranges::sort(seen);
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  CHECK(seen.size() == 24);
  for (std::array<int, 4> order : seen) {
    std::ranges::sort(order);
    CHECK(order == std::array<int, 4>{0, 1, 2, 3});
  }
}

TEST_CASE("impossible sizes are refused with both sizes") {
  CHECK_THROWS_WITH_AS(dts::choose_crop({}, 30, 40, 32, 32),
                       "crop of 32x32 does not fit into the image of 30x40 pixels",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(resized_crop({}, 0, 5), "image of 0x5 pixels, expected at least 1x1",
                       dts::InvalidArgument);
  CHECK_THROWS_WITH_AS(dts::choose_erasing({}, 5, 0, 1.0, 0.1, 0.2, 1.0, 1.0),
                       "image of 5x0 pixels, expected at least 1x1", dts::InvalidArgument);
}
