// SPDX-License-Identifier: Apache-2.0
#include "jpeg/common_kind.h"

#include <doctest/doctest.h>

#include "jpeg/edit.h"
#include "jpeg/encoder.h"

using dts::is_common_jpeg;
using dts::testing::Bytes;
using dts::testing::Kind;

namespace {

bool is_usual(const Kind& kind) {
  if (kind.arithmetic) return false;
  const auto& sampling = kind.sampling;
  if (kind.stored == JCS_GRAYSCALE) return true;
  if (kind.stored != JCS_YCbCr) return false;
  const std::array<int, 2> one = {1, 1};
  const std::vector<std::array<int, 2>> luma = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}};
  return sampling[1] == one && sampling[2] == one &&
         std::find(luma.begin(), luma.end(), sampling[0]) != luma.end();
}

}  // namespace

TEST_CASE("the usual samplings and codings are common, all others are not") {
  int num_common = 0;
  int num_others = 0;
  for (const Kind& kind : dts::testing::every_kind()) {
    CAPTURE(kind.name);
    const Bytes data = dts::testing::encode(kind, 40, 30);
    const bool is_common = is_common_jpeg(data);
    if (kind.stored == JCS_GRAYSCALE) {
      // Whatever factors: those of a lone component mean nothing, but not to every decoder.
      CHECK((!is_common || !kind.arithmetic));
    } else {
      CHECK(is_common == is_usual(kind));
    }
    (is_common ? num_common : num_others) += 1;
  }
  CHECK(num_common >= 5);
  CHECK(num_others >= 5);
}

TEST_CASE("a colour space that the markers leave open or contradict is not common") {
  const Bytes plain = dts::testing::encode({.name = "plain"}, 24, 24);
  REQUIRE(is_common_jpeg(plain));
  const std::size_t app0 = dts::testing::segment_at(plain, 0xE0);
  const auto adobe = [&](int transform) {
    return dts::testing::with_inserted(
        plain, app0, {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, transform});
  };
  CHECK(is_common_jpeg(adobe(1)));
  CHECK_FALSE(is_common_jpeg(adobe(0)));
  CHECK_FALSE(is_common_jpeg(adobe(2)));

  // Without JFIF the numbers of the components decide.
  const Bytes bare = dts::testing::without(plain, app0, app0 + 18);
  CHECK(is_common_jpeg(bare));
  const std::size_t frame = dts::testing::segment_at(bare, 0xC0);
  CHECK_FALSE(is_common_jpeg(dts::testing::with_value(bare, frame + 10, 'R')));
  CHECK(is_common_jpeg(
      dts::testing::with_value(plain, dts::testing::segment_at(plain, 0xC0) + 10, 9)));
}

TEST_CASE("precision, process, factors and lengths that are unusual") {
  const Bytes plain = dts::testing::encode({.name = "plain"}, 24, 24);
  const std::size_t frame = dts::testing::segment_at(plain, 0xC0);
  const auto with = [&](std::size_t at, int value) {
    return dts::testing::with_value(plain, at, value);
  };
  CHECK_FALSE(is_common_jpeg(with(frame + 4, 12)));
  CHECK_FALSE(is_common_jpeg(with(frame + 1, 0xC1)));
  CHECK_FALSE(is_common_jpeg(with(frame + 1, 0xC9)));
  CHECK_FALSE(is_common_jpeg(with(frame + 9, 4)));
  CHECK_FALSE(is_common_jpeg(with(frame + 11, 0x31)));
  CHECK_FALSE(is_common_jpeg(with(frame + 14, 0x21)));
  CHECK_FALSE(is_common_jpeg(with(frame + 3, 8)));
  // Two frames, stray bytes, a marker that stands alone.
  Bytes frame_bytes(plain.begin() + static_cast<std::ptrdiff_t>(frame),
                    plain.begin() + static_cast<std::ptrdiff_t>(frame + 19));
  std::vector<int> values;
  for (const std::byte b : frame_bytes) values.push_back(std::to_integer<int>(b));
  CHECK_FALSE(is_common_jpeg(dts::testing::with_inserted(plain, frame, values)));
  CHECK_FALSE(is_common_jpeg(dts::testing::with_inserted(plain, frame, {0})));
  CHECK_FALSE(is_common_jpeg(dts::testing::with_inserted(plain, frame, {0xFF, 0xD0})));
  CHECK(is_common_jpeg(dts::testing::with_inserted(plain, frame, {0xFF})));
}

TEST_CASE("data that ends anywhere in the header, or is no JPEG, is not common") {
  const Bytes plain = dts::testing::encode({.name = "plain"}, 24, 24);
  const std::size_t scan = dts::testing::segment_at(plain, 0xDA);
  for (std::size_t size = 0; size < scan + 2; ++size) {
    const Bytes head(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(size));
    CHECK_FALSE(is_common_jpeg(head));
  }
  CHECK_FALSE(is_common_jpeg(Bytes(100, std::byte{0})));
  CHECK_FALSE(is_common_jpeg(Bytes(100, std::byte{0xFF})));
}
