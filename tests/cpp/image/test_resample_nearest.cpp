// SPDX-License-Identifier: Apache-2.0
#include "image/resample_nearest.h"

#include <doctest/doctest.h>

#include "image/pictures.h"

namespace dts {
namespace {

std::vector<std::int32_t> positions(std::int64_t in_size, std::int64_t out_size, std::int64_t begin,
                                    std::int64_t count) {
  std::vector<std::int32_t> out;
  nearest_positions({Filter::kNearest, in_size, out_size, begin, count}, &out);
  return out;
}

TEST_CASE("nearest: positions of small sizes") {
  using List = std::vector<std::int32_t>;
  CHECK(positions(7, 4, 0, 4) == List{0, 2, 4, 6});
  CHECK(positions(3, 7, 0, 7) == List{0, 0, 1, 1, 1, 2, 2});
  CHECK(positions(5, 5, 0, 5) == List{0, 1, 2, 3, 4});
  CHECK(positions(1, 3, 0, 3) == List{0, 0, 0});
  CHECK(positions(1000, 1, 0, 1) == List{500});
}

TEST_CASE("nearest: a window's positions are those of the whole") {
  for (const auto& [in_size, out_size] : {std::pair{375, 224}, {100, 333}, {9, 8}}) {
    const auto whole = positions(in_size, out_size, 0, out_size);
    for (std::int64_t begin = 0; begin < out_size; begin += 3) {
      const auto count = out_size - begin;
      const auto part = positions(in_size, out_size, begin, count);
      REQUIRE(std::equal(part.begin(), part.end(), whole.begin() + begin));
    }
  }
}

// 3.5 * (2 / 7) is 1, but adding 2 / 7 up stays below. Pillow adds.
TEST_CASE("nearest: the sum of steps decides, not their product") {
  CHECK(positions(2, 7, 0, 7) == std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1});
  CHECK(positions(2, 15, 7, 2) == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("nearest: never beyond the last pixel") {
  for (std::int64_t out_size : {1, 2, 3, 10'000, 1'000'003}) {
    CHECK(positions(1, out_size, out_size - 1, 1) == std::vector<std::int32_t>{0});
    CHECK(positions(3, out_size, out_size - 1, 1)[0] <= 2);
  }
}

TEST_CASE("nearest: copies pixels relative to the box it gets") {
  const testing::Picture source = testing::pattern_picture(4, 5, 3);
  testing::Picture out(3, 4, 3, 2);
  copy_nearest(source.view(), {10, 10, 13}, 10, {20, 22, 22, 24}, 20, out.view());
  for (const auto& [y, from_y] : {std::pair{0, 0}, {1, 0}, {2, 3}}) {
    for (const auto& [x, from_x] : {std::pair{0, 0}, {1, 2}, {2, 2}, {3, 4}}) {
      CHECK(std::equal(out.at(y, x), out.at(y, x) + 3, source.at(from_y, from_x)));
    }
  }
  CHECK(out.is_padding_untouched());
}

}  // namespace
}  // namespace dts
