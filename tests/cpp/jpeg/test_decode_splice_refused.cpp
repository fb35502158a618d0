// SPDX-License-Identifier: Apache-2.0
// Files with restart markers that can't be spliced, are damaged or were changed at random:
// status, words and pixels are those of the decoder that never splices.
#include "jpeg/decoder_pair.h"
#include "jpeg/edit.h"

namespace {

using dts::DecodePath;
using dts::DecodeStatus;
using dts::JpegReader;
using dts::testing::Bytes;
using dts::testing::DecoderPair;
using dts::testing::encode;
using dts::testing::Kind;
using dts::testing::mutate;
using dts::testing::next_random;
using dts::testing::odd_images;
using dts::testing::restarts_at;
using dts::testing::segment_at;
using dts::testing::with_inserted;
using dts::testing::with_value;
using dts::testing::without;

constexpr int kRounds = 250;

// Two decoders side by side.
struct Pair : DecoderPair {
  Pair() : DecoderPair(JpegReader::kLibjpeg) {}
  int num_spliced() const { return count(DecodePath::kSpliced); }
};

// Not spliced, and otherwise as ever.
void check_refused(const Bytes& data, DecodeStatus expected) {
  Pair pair;
  REQUIRE(pair.open(data) == expected);
  std::uint64_t state = 1;
  if (expected == DecodeStatus::kOk) pair.decode_some(state);
  CHECK(pair.num_spliced() == 0);
}

const dts::testing::Sampling kHalf = {{2, 2}, {1, 1}, {1, 1}};

// 10 x 8 units.
Bytes photo(Kind kind, int interval = 2) {
  kind.restart_interval = interval;
  return encode(kind, 157, 121);
}

}  // namespace

TEST_CASE("not spliced: intervals, processes and scans") {
  const Kind half{.name = "", .sampling = kHalf};
  for (const int interval : {3, 4, 7, 11, 15, 21, 80, 100}) {
    CAPTURE(interval);
    check_refused(photo(half, interval), DecodeStatus::kOk);
  }
  check_refused(photo({.name = "", .progressive = true}), DecodeStatus::kOk);
  check_refused(photo({.name = "", .one_scan_each = true}), DecodeStatus::kOk);
#ifdef C_ARITH_CODING_SUPPORTED
  check_refused(photo({.name = "", .arithmetic = true}), DecodeStatus::kOk);
#endif
  const Bytes good = photo(half);
  const std::size_t frame = segment_at(good, 0xC0);
  check_refused(with_value(good, frame + 4, 12), DecodeStatus::kUnsupported);
  check_refused(with_value(good, frame + 1, 0xC3), DecodeStatus::kUnsupported);
  const Bytes without_height = with_value(with_value(good, frame + 5, 0), frame + 6, 0);
  check_refused(without_height, DecodeStatus::kUnsupported);
  const std::vector<int> dnl = {0xFF, 0xDC, 0, 4, 0, 121};
  check_refused(with_inserted(without_height, good.size() - 2, dnl), DecodeStatus::kUnsupported);
  check_refused(with_inserted(good, good.size() - 2, dnl), DecodeStatus::kUnsupported);
}

TEST_CASE("not spliced: markers in the scan") {
  const Bytes good = photo({.name = "", .sampling = kHalf});
  const auto restarts = restarts_at(good);
  REQUIRE(restarts.size() == 39);
  check_refused(without(good, good.size() - 2, good.size()), DecodeStatus::kIncomplete);
  check_refused(without(good, restarts[20], good.size()), DecodeStatus::kIncomplete);
  check_refused(with_value(good, restarts[9] + 1, 0xD5), DecodeStatus::kOk);   // out of turn
  check_refused(with_value(good, restarts[38] + 1, 0x00), DecodeStatus::kOk);  // lost
  check_refused(without(good, restarts[3], restarts[4]), DecodeStatus::kOk);
  check_refused(with_inserted(good, good.size() - 2, {0xFF, 0xD7}), DecodeStatus::kOk);
  check_refused(with_inserted(good, restarts[5], {0xFF, 0xD9}), DecodeStatus::kOk);
  check_refused(with_inserted(good, restarts[5], {0xFF, 0xFE, 0, 4, 1, 2}),
                DecodeStatus::kUnsupported);
  check_refused(with_inserted(good, restarts[5], {0xFF, 0xC4, 0, 2}), DecodeStatus::kUnsupported);
}

TEST_CASE("libjpeg gives up on a part: the whole file says why") {
  Pair pair;
  const Bytes good = photo({.name = "", .sampling = kHalf});
  // Without its quantization tables; with a Huffman table that the scan names and none defines.
  const std::size_t tables = segment_at(good, 0xDB);
  REQUIRE(pair.open(without(good, tables, tables + 69)) == DecodeStatus::kOk);
  CHECK(pair.decode({5, 5, 20, 20}) == DecodeStatus::kDamaged);
  CHECK(pair.decode({50, 50, 20, 20}) == DecodeStatus::kDamaged);
  const std::size_t scan = segment_at(good, 0xDA);
  REQUIRE(pair.open(with_value(good, scan + 6, 0x33)) == DecodeStatus::kOk);
  CHECK(pair.decode({5, 5, 20, 20}) == DecodeStatus::kDamaged);
  CHECK(pair.num_spliced() == 0);
  REQUIRE(pair.open(good) == DecodeStatus::kOk);
  CHECK(pair.decode({5, 5, 20, 20}) == DecodeStatus::kOk);
  CHECK(pair.num_spliced() == 1);
}

TEST_CASE("odd images: as without splicing") {
  Pair pair;
  std::uint64_t state = 9;
  for (const auto& image : odd_images()) {
    CAPTURE(image.path);
    if (pair.open(image.data) == DecodeStatus::kOk) pair.decode_some(state);
  }
}

TEST_CASE("damage inside of segments stays inside of them") {
  Pair pair;
  std::uint64_t state = 21;
  const Bytes good = photo({.name = "", .sampling = kHalf});
  const auto restarts = restarts_at(good);
  for (int round = 0; round < kRounds; ++round) {
    CAPTURE(round);
    Bytes data = good;
    for (int k = 0; k < 20; ++k) {
      const std::size_t at = restarts[next_random(state, 38)] + 2 + next_random(state, 12);
      if (data[at] == std::byte{0xFF} || data[at - 1] == std::byte{0xFF} ||
          data[at + 1] == std::byte{0xFF}) {
        continue;
      }
      data[at] = static_cast<std::byte>(next_random(state, 255));
    }
    // Segments that are empty or have bytes to spare.
    const auto now = restarts_at(data);
    const unsigned which = next_random(state, 37);
    if (round % 3 == 0) data = without(data, now[which] + 2, now[which + 1]);
    if (round % 3 == 1) data = with_inserted(data, now[which], {1, 2, 3, 4, 0xFF, 0, 6, 7, 8, 9});
    REQUIRE(pair.open(data) == DecodeStatus::kOk);
    pair.decode_some(state);
  }
  CHECK(pair.num_spliced() == 3 * kRounds);
}

TEST_CASE("changed at random: as without splicing") {
  Pair pair;
  std::uint64_t state = 4;
  Kind gray{.name = "", .sampling = {{2, 2}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  Kind cmyk{.name = "", .sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  cmyk.input = JCS_CMYK;
  cmyk.stored = JCS_YCCK;
  const std::vector<Bytes> list = {photo({.name = "", .sampling = kHalf}, 1),
                                   photo({.name = "", .sampling = kHalf}, 5),
                                   photo({.name = "", .sampling = kHalf}, 10),
                                   photo({.name = "", .sampling = kHalf}, 30),
                                   photo({.name = ""}, 4),
                                   photo(gray, 2),
                                   photo(cmyk, 20)};
  int num_pictures = 0;
  for (const Bytes& data : list) {
    for (int round = 0; round < kRounds; ++round) {
      CAPTURE(round);
      if (pair.open(mutate(data, state)) != DecodeStatus::kOk) continue;
      ++num_pictures;
      pair.decode_some(state);
    }
  }
  CHECK(num_pictures > kRounds);
  CHECK(pair.num_spliced() > kRounds);
}
