// SPDX-License-Identifier: Apache-2.0
// Cut and changed files: never outside of memory, and whatever is transcoded decodes to
// the pixels of the file it was made of.
#include <algorithm>
#include <iterator>

#include "jpeg/decode.h"
#include "jpeg/encoder.h"
#include "jpeg/transcode.h"

namespace {

using dts::JpegTranscoder;
using dts::Transcoded;
using dts::TranscodeStatus;
using dts::testing::Bytes;
using dts::testing::encode;
using dts::testing::next_random;
using dts::testing::odd_image;

std::vector<Bytes> pictures() {
  const dts::testing::Sampling half = {{2, 2}, {1, 1}, {1, 1}};
  return {encode({.name = "", .sampling = half}, 61, 43),
          encode({.name = "", .sampling = half, .restart_interval = 2}, 61, 43),
          encode({.name = "", .sampling = half, .progressive = true}, 61, 43),
          encode({.name = "", .one_scan_each = true}, 61, 43),
          odd_image("meta/exif_rotate6.jpg"),
          odd_image("cmyk/ycck_adobe.JPEG")};
}

std::vector<std::uint8_t> pixels_of(dts::ConstByteSpan data) {
  dts::JpegDecoder decoder;
  REQUIRE(decoder.open(data) == dts::DecodeStatus::kOk);
  const auto frame = decoder.frame();
  dts::ConstImageView view;
  REQUIRE(decoder.decode({0, 0, frame.height, frame.width}, false, &view) ==
          dts::DecodeStatus::kOk);
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < view.height; ++y) {
    pixels.insert(pixels.end(), view.row(y), view.row(y) + view.width * view.channels);
  }
  return pixels;
}

bool check_any(JpegTranscoder& transcoder, const Bytes& data, bool keep_metadata) {
  Transcoded result;
  const TranscodeStatus status = transcoder.run(data, {1, keep_metadata}, &result);
  CHECK((status == TranscodeStatus::kDone) == !result.bytes.empty());
  if (status != TranscodeStatus::kDone) return false;
  CHECK(pixels_of(data) == pixels_of(result.bytes));
  return true;
}

}  // namespace

TEST_CASE("files cut anywhere are kept") {
  JpegTranscoder transcoder;
  for (const Bytes& whole : pictures()) {
    for (std::size_t size = 0; size < whole.size(); size += 1 + size / 40) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      Transcoded result;
      CHECK(transcoder.run(cut, {0, false}, &result) != TranscodeStatus::kDone);
      CHECK(result.bytes.empty());
    }
  }
}

TEST_CASE("changed bytes: kept, or the same pixels") {
  JpegTranscoder transcoder;
  std::uint64_t state = 11;
  int num_done = 0, num_kept = 0;
  const std::vector<Bytes> whole = pictures();
  for (int round = 0; round < 1500; ++round) {
    Bytes data = whole[static_cast<std::size_t>(round) % whole.size()];
    const unsigned num_changes = 1 + next_random(state, 3);
    for (unsigned i = 0; i < num_changes; ++i) {
      const unsigned limit = next_random(state, 2) == 0 ? 700 : 1000000;
      const std::size_t at =
          next_random(state, std::min(limit, static_cast<unsigned>(data.size())));
      data[at] = static_cast<std::byte>(next_random(state, 256));
    }
    dts::JpegDecoder decoder;
    // Large pictures only take time.
    if (decoder.open(data) == dts::DecodeStatus::kOk &&
        decoder.frame().width * decoder.frame().height > 1 << 18) {
      continue;
    }
    (check_any(transcoder, data, round % 3 == 0) ? num_done : num_kept) += 1;
  }
  CHECK(num_done > 100);
  CHECK(num_kept > 100);
}
