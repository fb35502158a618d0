// SPDX-License-Identifier: Apache-2.0
// Values that Pillow itself gave (13.0, x86-64) for the pattern of pictures.h.
#include <doctest/doctest.h>

#include "base/crc32.h"
#include "image/pictures.h"
#include "image/resample.h"

namespace dts {
namespace {

using testing::cut;
using testing::pattern_picture;
using testing::Picture;

Picture resize(SimdLevel level, const Picture& source, Filter filter, std::int64_t width,
               std::int64_t height, PassOrder order = PassOrder::kVerticalIfShrunkMore) {
  Resampler resampler(level, order);
  const Box all = {0, 0, height, width};
  const ResamplePlan plan = resampler.plan(filter, source.width, source.height, width, height, all);
  Picture out(height, width, source.channels);
  resampler.run(plan, cut(source, plan.source_box).view(), out.view());
  return out;
}

TEST_CASE("resample: Pillow's values of a small gray image") {
  const struct {
    Filter filter;
    std::vector<std::uint8_t> values;
  } cases[] = {
      {Filter::kNearest, {0, 74, 148, 222, 118, 236, 98, 216, 236, 142, 48, 210}},
      {Filter::kBox, {51, 136, 200, 136, 148, 138, 98, 187, 181, 140, 125, 110}},
      {Filter::kBilinear, {47, 112, 167, 149, 146, 155, 127, 134, 176, 135, 126, 122}},
      {Filter::kHamming, {40, 110, 171, 155, 143, 168, 119, 155, 179, 132, 123, 131}},
      {Filter::kBicubic, {37, 115, 171, 150, 152, 160, 125, 128, 180, 134, 124, 120}},
      {Filter::kLanczos, {31, 118, 173, 152, 159, 164, 122, 123, 179, 132, 122, 120}},
  };
  for (const SimdLevel level : testing::simd_levels()) {
    for (const auto& [filter, values] : cases) {
      CHECK(resize(level, pattern_picture(5, 7, 1), filter, 4, 3).pixels() == values);
    }
  }
}

TEST_CASE("resample: Pillow's values of a photo's size, by checksum") {
  const struct {
    Filter filter;
    std::int64_t channels;
    std::uint32_t checksums[3];  // 224x224, 640x200, 100x300
  } cases[] = {
      {Filter::kNearest, 3, {0x30A67581, 0x8AAD5DD1, 0x4831F396}},
      {Filter::kBox, 3, {0x86F45BF9, 0x4F4D3B8F, 0x983566C9}},
      {Filter::kBilinear, 3, {0xA4A70BD3, 0xEB60F313, 0x409D82B8}},
      {Filter::kHamming, 3, {0xF835968E, 0xBE7EFE8C, 0x3B116916}},
      {Filter::kBicubic, 3, {0xFA19A7E7, 0xA019C3A7, 0x6F2EF2C1}},
      {Filter::kLanczos, 3, {0x009D6AA4, 0x63C9AAA6, 0xEED9E8B1}},
      {Filter::kNearest, 1, {0xAD6AD531, 0x2DBB9779, 0x3C76E780}},
      {Filter::kBox, 1, {0xC834A2A8, 0x45B74CD5, 0x478682D2}},
      {Filter::kBilinear, 1, {0xC4A95A9B, 0xF489DE6F, 0x6717A2B3}},
      {Filter::kHamming, 1, {0x91260FFB, 0xF58CE64A, 0xDAE4C8A0}},
      {Filter::kBicubic, 1, {0x9CF10DA9, 0x11562519, 0xD89431E1}},
      {Filter::kLanczos, 1, {0x72B6259A, 0xB742D7ED, 0x6A0F8EB6}},
  };
  const auto checksum = [](const Picture& picture) {
    return crc32(0, std::as_bytes(std::span(picture.bytes)));
  };
  for (const SimdLevel level : testing::simd_levels()) {
    for (const auto& [filter, channels, checksums] : cases) {
      const Picture source = pattern_picture(375, 500, channels);
      CHECK(checksum(resize(level, source, filter, 224, 224)) == checksums[0]);
      CHECK(checksum(resize(level, source, filter, 640, 200)) == checksums[1]);
      CHECK(checksum(resize(level, source, filter, 100, 300)) == checksums[2]);
    }
  }
}

// 3x12 to 5x4, bicubic: 13 takes the rows first, 12.2 and earlier the columns.
TEST_CASE("resample: Pillow 12 and 13 differ where rows go first") {
  const Picture source = pattern_picture(12, 3, 3);
  const auto first_row = [&](PassOrder order) {
    const auto all = resize(best_simd_level(), source, Filter::kBicubic, 5, 4, order).pixels();
    return std::vector<std::uint8_t>(all.begin(), all.begin() + 15);
  };
  const std::vector<std::uint8_t> pillow12 = {70,  129, 147, 89,  118, 129, 122, 108,
                                              108, 138, 143, 138, 145, 168, 160};
  const std::vector<std::uint8_t> pillow13 = {69,  128, 147, 89,  118, 129, 122, 108,
                                              108, 138, 143, 138, 145, 167, 160};
  CHECK(first_row(PassOrder::kVerticalIfShrunkMore) == pillow13);
  CHECK(first_row(PassOrder::kVerticalIfVeryTall) == pillow12);
  CHECK(first_row(PassOrder::kHorizontalFirst) == pillow12);
}

}  // namespace
}  // namespace dts
