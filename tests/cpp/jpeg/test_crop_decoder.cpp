// SPDX-License-Identifier: Apache-2.0
// Boxes of pictures that our own decoder reads equal the same boxes of a whole decode by libjpeg.
#include "jpeg/crop_decoder.h"

#include <algorithm>

#include "jpeg/boxes.h"
#include "jpeg/coefficient_checks.h"
#include "jpeg/decoder_pair.h"
#include "jpeg/edit.h"

namespace dts::testing {
namespace {

// None, or from 1 to two rows of units and one.
int random_interval(const Kind& kind, int width, std::uint64_t& state) {
  if (next_random(state, 2) == 0) return 0;
  const int unit = kind.sampling.size() == 1 ? 8 : 8 * kind.sampling[0][0];
  const int row = (width + unit - 1) / unit;
  const int any = 1 + static_cast<int>(next_random(state, static_cast<unsigned>(2 * row + 1)));
  const int choices[] = {any, row, 2 * row, 1, 2, std::max(row / 2, 1)};
  return choices[next_random(state, 6)];
}

int check_boxes(CropDecoder& decoder, const Kind& kind, int width, int height, int num_boxes) {
  CAPTURE(kind.name);
  CAPTURE(kind.restart_interval);
  CAPTURE(kind.quality);
  CAPTURE(width);
  CAPTURE(height);
  const auto seed = static_cast<unsigned>(width * 1000 + height);
  const Bytes data = encode(kind, width, height, seed);
  const Decoded whole = decode_whole(data);
  REQUIRE(decoder.open(data));
  BoxMaker boxes(width, height, seed);
  for (int i = 0; i < num_boxes; ++i) {
    const Box box = boxes.next();
    CAPTURE(box.top);
    CAPTURE(box.left);
    CAPTURE(box.height);
    CAPTURE(box.width);
    ConstImageView view;
    REQUIRE(decoder.decode(box, false, &view));
    REQUIRE(count_wrong(view, whole, box) == 0);
  }
  return num_boxes;
}

Bytes photo(Kind kind, int interval, int quality = 88) {
  kind.restart_interval = interval;
  kind.quality = quality;
  return encode(kind, 157, 121);
}

const Kind k420{.name = "420", .sampling = {{2, 2}, {1, 1}, {1, 1}}};

}  // namespace

TEST_CASE("crop decoder: sizes of every remainder, every sampling, qualities, intervals") {
  CropDecoder decoder;
  std::uint64_t state = 6;
  int num_boxes = 0;
  for (Kind kind : baseline_kinds()) {
    for (int width = 1; width <= 70; ++width) {
      const int height = 1 + (width * 37) % 70;  // a permutation of 1..70
      for (int round = 0; round < 2; ++round) {
        kind.quality = 1 + static_cast<int>(next_random(state, 100));
        kind.restart_interval = random_interval(kind, width, state);
        num_boxes += check_boxes(decoder, kind, width, height, 4);
      }
    }
  }
  CHECK(num_boxes > 3500);
}

TEST_CASE("crop decoder: larger pictures, every quality") {
  CropDecoder decoder;
  std::uint64_t state = 7;
  int number = 0;
  const std::vector<Kind> kinds = baseline_kinds();
  for (int quality = 1; quality <= 100; quality += 3) {
    Kind kind = kinds[static_cast<std::size_t>(number++) % kinds.size()];
    kind.quality = quality;
    const int width = 150 + static_cast<int>(next_random(state, 120));
    kind.restart_interval = random_interval(kind, width, state);
    check_boxes(decoder, kind, width, 190, 8);
  }
}

TEST_CASE("crop decoder: gray stays one channel where asked for") {
  CropDecoder decoder;
  Kind gray{.name = "", .sampling = {{2, 2}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  const Bytes data = photo(gray, 0);
  REQUIRE(decoder.open(data));
  CHECK(decoder.geometry().num_components == 1);
  const Box box = {20, 30, 40, 50};
  ConstImageView view;
  REQUIRE(decoder.decode(box, true, &view));
  CHECK(count_wrong(view, decode_whole(data, true), box) == 0);
  REQUIRE(decoder.decode(box, false, &view));
  CHECK(count_wrong(view, decode_whole(data), box) == 0);
}

TEST_CASE("crop decoder: generic loops") {
  CropDecoder decoder(SimdLevel::kGeneric);
  for (Kind kind : baseline_kinds()) {
    check_boxes(decoder, kind, 123, 77, 10);
    kind.restart_interval = 3;
    check_boxes(decoder, kind, 122, 76, 10);
  }
}

TEST_CASE("crop decoder: memory, other files, giving up") {
  CropDecoder decoder;
  ConstImageView view;
  CHECK(decoder.held_bytes() == 0);
  CHECK_FALSE(decoder.decode({0, 0, 1, 1}, false, &view));
  const Bytes good = photo(k420, 2);
  CHECK_FALSE(decoder.open(encode({.name = "", .progressive = true}, 40, 40)));
  CHECK_FALSE(decoder.is_open());
  REQUIRE(decoder.open(good));
  REQUIRE(decoder.decode({30, 20, 60, 70}, false, &view));
  const std::size_t held = decoder.held_bytes();
  CHECK(held > 0);
  for (int i = 0; i < 3; ++i) REQUIRE(decoder.decode({30, 20, 60, 70}, false, &view));
  CHECK(decoder.held_bytes() == held);

  // Ten units to a row, five segments: the third of the second row is cut off.
  const auto restarts = restarts_at(good);
  const Bytes bad = without(good, restarts[6] + 3, restarts[7]);
  REQUIRE(decoder.open(bad));
  const ConstImageView before = view;
  CHECK_FALSE(decoder.decode({20, 70, 5, 5}, false, &view));
  CHECK(view.data == before.data);
  CHECK(view.width == before.width);
  CHECK(decoder.decode({20, 110, 5, 5}, false, &view));
  CHECK(decoder.decode({60, 70, 5, 5}, false, &view));
  decoder.release();
  CHECK_FALSE(decoder.is_open());
  CHECK(decoder.held_bytes() == 0);
}

TEST_CASE("crop decoder: odd images as libjpeg reads them") {
  DecoderPair pair(JpegReader::kOwn);
  std::uint64_t state = 8;
  for (const auto& image : odd_images()) {
    CAPTURE(image.path);
    if (pair.open(image.data) == DecodeStatus::kOk) pair.decode_some(state);
  }
  CHECK(pair.count(DecodePath::kOwn) > 0);
  CHECK(pair.count(DecodePath::kLibjpeg) > 0);
}

TEST_CASE("crop decoder: changed bytes give what libjpeg makes of them") {
  DecoderPair pair(JpegReader::kOwn);
  std::uint64_t state = 10;
  Kind gray{.name = "", .sampling = {{1, 1}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  const std::vector<Bytes> list = {
      photo(k420, 0),         photo(k420, 1),         photo(k420, 3),
      photo(k420, 10),        photo(k420, 25),        photo(k420, 5, 100),
      photo({.name = ""}, 0), photo({.name = ""}, 7), photo(gray, 0, 95)};
  for (const Bytes& data : list) {
    for (int round = 0; round < 250; ++round) {
      CAPTURE(round);
      if (pair.open(mutate(data, state)) == DecodeStatus::kOk) pair.decode_some(state);
    }
  }
  CHECK(pair.count(DecodePath::kOwn) > 500);
  CHECK(pair.count(DecodePath::kLibjpeg) > 500);
}

TEST_CASE("crop decoder: damage inside of segments stays inside of them") {
  DecoderPair pair(JpegReader::kOwn);
  std::uint64_t state = 22;
  for (const int interval : {2, 3, 20}) {
    const Bytes good = photo(k420, interval);
    const auto restarts = restarts_at(good);
    const auto count = static_cast<unsigned>(restarts.size());
    for (int round = 0; round < 100; ++round) {
      Bytes data = good;
      for (int k = 0; k < 6; ++k) {
        const std::size_t at = restarts[next_random(state, count)] + 2 + next_random(state, 12);
        if (value_at(data, at) == 0xFF || value_at(data, at - 1) == 0xFF ||
            value_at(data, at + 1) == 0xFF) {
          continue;
        }
        data[at] = static_cast<std::byte>(next_random(state, 255));
      }
      REQUIRE(pair.open(data) == DecodeStatus::kOk);
      pair.decode_some(state);
    }
  }
  CHECK(pair.count(DecodePath::kOwn) > 100);
}

}  // namespace dts::testing
