// SPDX-License-Identifier: Apache-2.0
#include "image/pad.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "base/crc32.h"
#include "base/error.h"
#include "image/pictures.h"

namespace dts {
namespace {

using testing::pattern_picture;
using testing::Picture;

constexpr PadMode kModes[] = {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect,
                              PadMode::kSymmetric};

Picture pad(const Picture& source, const std::array<std::int64_t, 4>& padding, PadMode mode,
            const std::vector<std::uint8_t>& fill = {}, std::int64_t gap = 0) {
  Picture out(source.height + padding[1] + padding[3], source.width + padding[0] + padding[2],
              source.channels, gap);
  pad_image(source.view(), padding, mode, fill, out.view());
  return out;
}

TEST_CASE("pad: torchvision's values, by checksum") {
  const struct {
    std::array<std::int64_t, 4> padding;
    std::uint32_t rgb[4], gray[4];
  } cases[] = {
      {{2, 3, 4, 5},
       {0xFCD51649, 0x32AB2A9D, 0x4BD611DC, 0x0F654C5C},
       {0x94967E95, 0x20DB9494, 0xB0AAB24D, 0x43D705FA}},
      {{-2, 3, 4, -5},
       {0x1B870F7D, 0x2B53DEA2, 0x4E03F321, 0x0E6C5C99},
       {0x3E1EFBAF, 0x9F07FEF5, 0x341FB68C, 0x5CAB9B49}},
      {{20, 1, 0, 31},
       {0x3F7729A0, 0x79809186, 0x9F25802B, 0x2AE50E1B},
       {0x9D92C2DE, 0xE0C678AB, 0xCF02EEBC, 0x19F1C060}},
      {{-1, -2, -3, -1},
       {0x310D915F, 0x310D915F, 0x310D915F, 0x310D915F},
       {0xA08D63D2, 0xA08D63D2, 0xA08D63D2, 0xA08D63D2}},
  };
  const auto checksum = [](const Picture& picture) {
    return crc32(0, std::as_bytes(std::span(picture.bytes)));
  };
  for (const auto& [padding, rgb, gray] : cases) {
    for (std::size_t mode = 0; mode < 4; ++mode) {
      CHECK(checksum(pad(pattern_picture(9, 7, 3), padding, kModes[mode], {10, 20, 30})) ==
            rgb[mode]);
      CHECK(checksum(pad(pattern_picture(9, 7, 1), padding, kModes[mode], {10})) == gray[mode]);
    }
  }
}

TEST_CASE("pad: the order of the border's pixels") {
  Picture row(1, 3, 1);
  row.bytes = {1, 2, 3};
  using Bytes = std::vector<std::uint8_t>;
  CHECK(pad(row, {2, 0, 1, 0}, PadMode::kConstant, {9}).bytes == Bytes{9, 9, 1, 2, 3, 9});
  CHECK(pad(row, {2, 0, 1, 0}, PadMode::kConstant).bytes == Bytes{0, 0, 1, 2, 3, 0});
  CHECK(pad(row, {2, 0, 1, 0}, PadMode::kEdge).bytes == Bytes{1, 1, 1, 2, 3, 3});
  CHECK(pad(row, {2, 0, 1, 0}, PadMode::kReflect).bytes == Bytes{3, 2, 1, 2, 3, 2});
  CHECK(pad(row, {2, 0, 1, 0}, PadMode::kSymmetric).bytes == Bytes{2, 1, 1, 2, 3, 3});
  // To and fro.
  CHECK(pad(row, {7, 0, 0, 0}, PadMode::kReflect).bytes == Bytes{2, 3, 2, 1, 2, 3, 2, 1, 2, 3});
  CHECK(pad(row, {0, 0, 7, 0}, PadMode::kReflect).bytes == Bytes{1, 2, 3, 2, 1, 2, 3, 2, 1, 2});
  CHECK(pad(row, {0, 0, 7, 0}, PadMode::kSymmetric).bytes == Bytes{1, 2, 3, 3, 2, 1, 1, 2, 3, 3});
  // Taken away first, the border comes from what is left.
  CHECK(pad(row, {-1, 0, 3, 0}, PadMode::kReflect).bytes == Bytes{2, 3, 2, 3, 2});
  CHECK(pad(row, {-2, 0, 3, 0}, PadMode::kReflect).bytes == Bytes{3, 3, 3, 3});
  CHECK(pad(row, {-4, 0, 3, 0}, PadMode::kConstant, {9}).bytes == Bytes{9, 9});
}

// One step outwards at a time, turning round at the border.
std::int64_t walk(std::int64_t steps, std::int64_t begin, std::int64_t size, std::int64_t step,
                  PadMode mode) {
  std::int64_t at = begin;
  for (; steps > 0; --steps) {
    const std::int64_t next = at + step;
    if (next >= 0 && next < size) {
      at = next;
    } else if (mode != PadMode::kEdge) {
      step = -step;
      if (mode == PadMode::kReflect && size > 1) at += step;
    }
  }
  return at;
}

TEST_CASE("pad: random sizes, beside walking outwards from the border") {
  testing::Random random(8);
  for (int round = 0; round < 150; ++round) {
    const std::int64_t height = testing::draw(random, 1, 6), width = testing::draw(random, 1, 6);
    const Picture source =
        testing::random_picture(random, height, width, round % 2 == 0 ? 1 : 3, 0, round % 5);
    const std::array<std::int64_t, 4> padding = {
        testing::draw(random, 0, 15), testing::draw(random, 0, 15), testing::draw(random, 0, 15),
        testing::draw(random, 0, 15)};
    for (const PadMode mode : {PadMode::kEdge, PadMode::kReflect, PadMode::kSymmetric}) {
      const Picture out = pad(source, padding, mode, {}, 3);
      const auto source_of = [mode](std::int64_t at, std::int64_t size) {
        if (at < 0) return walk(-at, 0, size, -1, mode);
        return at < size ? at : walk(at - size + 1, size - 1, size, 1, mode);
      };
      for (std::int64_t y = 0; y < out.height; ++y) {
        for (std::int64_t x = 0; x < out.width; ++x) {
          const std::uint8_t* const from =
              source.at(source_of(y - padding[1], height), source_of(x - padding[0], width));
          REQUIRE(std::equal(from, from + source.channels, out.at(y, x)));
        }
      }
      CHECK(out.is_padding_untouched());
    }
  }
}

TEST_CASE("pad: arguments that make no sense") {
  const Picture source = pattern_picture(4, 5, 3);
  Picture out(6, 7, 3), gray(6, 7, 1), narrow(4, 1, 3);
  const std::array<std::int64_t, 4> one = {1, 1, 1, 1};
  CHECK_NOTHROW(pad_image(source.view(), one, PadMode::kEdge, {}, out.view()));
  CHECK_THROWS_WITH_AS(pad_image(source.view(), {1, 1, 1, 2}, PadMode::kEdge, {}, out.view()),
                       "the padded image must be 7x7x3, not 6x7x3", InvalidArgument);
  CHECK_THROWS_AS(pad_image(source.view(), one, PadMode::kEdge, {}, gray.view()), InvalidArgument);
  const std::vector<std::uint8_t> two = {1, 2};
  CHECK_THROWS_WITH_AS(pad_image(source.view(), one, PadMode::kConstant, two, out.view()),
                       "the fill must have 1 or 3 values, not 2", InvalidArgument);
  CHECK_THROWS_WITH_AS(
      pad_image(source.view(), {-6, 0, 2, 0}, PadMode::kReflect, {}, narrow.view()),
      "negative padding leaves nothing of an image of 4x5x3 to take the border from",
      InvalidArgument);
}

}  // namespace
}  // namespace dts
