// SPDX-License-Identifier: Apache-2.0
// What open() says of a file, and whole pictures. Boxes: test_decode_boxes.cpp.
#include "jpeg/decode.h"

#include <set>

#include "base/error.h"
#include "image/simd.h"
#include "jpeg/codec_info.h"
#include "jpeg/edit.h"
#include "jpeg/encoder.h"
#include "support.h"

namespace dts::testing {
namespace {

Box whole_of(const JpegFrame& frame) { return {0, 0, frame.height, frame.width}; }

const Bytes& small_picture() {
  static const Bytes data = encode({}, 40, 30);
  return data;
}

}  // namespace

TEST_CASE("open reads size and mode of every odd image as Pillow does") {
  JpegDecoder decoder;
  int num_opened = 0;
  for (const auto& image : odd_images()) {
    if (!image.is_jpeg()) continue;
    CAPTURE(image.path);
    REQUIRE(decoder.open(image.data) == DecodeStatus::kOk);
    ++num_opened;
    CHECK(decoder.error() == "");
    CHECK(decoder.frame().width == image.pil["width"].get<std::int64_t>());
    CHECK(decoder.frame().height == image.pil["height"].get<std::int64_t>());
    const std::string mode = image.pil["mode"].get<std::string>();
    CHECK(decoder.frame().is_gray == (mode == "L"));
    CHECK(decoder.frame().is_cmyk == (mode == "CMYK"));
    CHECK(decoder.frame().num_components == (mode == "L" ? 1 : mode == "CMYK" ? 4 : 3));
  }
  CHECK(num_opened == 30);
}

TEST_CASE("odd images that are no JPEG for Pillow are refused, or told by their frame") {
  JpegDecoder decoder;
  // Libjpeg's verdict on the sampling comes with the pixels; limits are the caller's.
  const std::set<std::string> opened = {"sampling/fractional.jpg", "size/bomb_65500.jpg"};
  for (const auto& image : odd_images()) {
    if (image.is_jpeg()) continue;
    CAPTURE(image.path);
    const DecodeStatus status = decoder.open(image.data);
    CHECK((status == DecodeStatus::kOk) == opened.contains(image.path));
    CHECK((decoder.error() == "") == opened.contains(image.path));
  }
  REQUIRE(decoder.open(odd_image("size/bomb_65500.jpg")) == DecodeStatus::kOk);
  CHECK(decoder.frame().width == 65500);
  CHECK(decoder.frame().height == 65500);
}

TEST_CASE("whole odd images equal a plain decode") {
  JpegDecoder decoder;
  for (const auto& image : odd_images()) {
    if (!image.is_jpeg()) continue;
    CAPTURE(image.path);
    REQUIRE(decoder.open(image.data) == DecodeStatus::kOk);
    const Box box = whole_of(decoder.frame());
    ConstImageView view;
    if (image.path == "coding/progressive_unfinished.jpg") {
      CHECK(decoder.decode(box, false, &view) == DecodeStatus::kUnsupported);
      CHECK(decoder.error() == "a progressive picture without its last scans");
      continue;
    }
    REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
    CHECK(decoder.error() == "");
    CHECK(count_wrong(view, decode_whole(image.data), box) == 0);
  }
}

TEST_CASE("gray comes in three equal channels, or in one when asked for") {
  Kind kind{.name = "gray", .sampling = {{1, 1}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
  const Bytes gray = encode(kind, 50, 41);
  JpegDecoder decoder;
  REQUIRE(decoder.open(gray) == DecodeStatus::kOk);
  const Box box = {7, 9, 20, 30};
  ConstImageView view;
  REQUIRE(decoder.decode(box, true, &view) == DecodeStatus::kOk);
  CHECK(view.channels == 1);
  CHECK(count_wrong(view, decode_whole(gray, true), box) == 0);
  REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
  CHECK(view.channels == 3);
  CHECK(view.row(3)[3 * 4] == view.row(3)[3 * 4 + 1]);
  CHECK(view.row(3)[3 * 4] == view.row(3)[3 * 4 + 2]);
  CHECK(count_wrong(view, decode_whole(gray), box) == 0);

  REQUIRE(decoder.open(small_picture()) == DecodeStatus::kOk);
  REQUIRE(decoder.decode({0, 0, 5, 5}, true, &view) == DecodeStatus::kOk);
  CHECK(view.channels == 3);
}

TEST_CASE("one open serves many boxes, one decoder many pictures") {
  JpegDecoder decoder;
  for (const unsigned seed : {1u, 2u, 3u}) {
    const Bytes data = encode({.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}}, 90, 70, seed);
    const auto whole = decode_whole(data);
    REQUIRE(decoder.open(data) == DecodeStatus::kOk);
    for (const Box& box : {Box{3, 5, 20, 31}, Box{60, 80, 10, 10}, Box{0, 0, 70, 90}}) {
      ConstImageView view;
      REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
      CHECK(count_wrong(view, whole, box) == 0);
    }
  }
}

TEST_CASE("a file without tables is not decoded with those of the file before") {
  // Cuts the quantization tables out of a copy.
  const Bytes& whole = small_picture();
  Bytes bare(whole.begin(), whole.begin() + 2);
  std::size_t at = 2;
  while (whole[at + 1] != std::byte{0xDA}) {
    const std::size_t length = 2 + (std::to_integer<std::size_t>(whole[at + 2]) << 8) +
                               std::to_integer<std::size_t>(whole[at + 3]);
    if (whole[at + 1] != std::byte{0xDB}) {
      bare.insert(bare.end(), whole.begin() + static_cast<std::ptrdiff_t>(at),
                  whole.begin() + static_cast<std::ptrdiff_t>(at + length));
    }
    at += length;
  }
  bare.insert(bare.end(), whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end());
  REQUIRE(bare.size() < whole.size());

  JpegDecoder decoder;
  ConstImageView view;
  REQUIRE(decoder.open(whole) == DecodeStatus::kOk);
  REQUIRE(decoder.decode({0, 0, 30, 40}, false, &view) == DecodeStatus::kOk);
  REQUIRE(decoder.open(bare) == DecodeStatus::kOk);
  CHECK(decoder.decode({0, 0, 30, 40}, false, &view) == DecodeStatus::kDamaged);
  CHECK(decoder.error() == "Quantization table 0x00 was not defined");
}

TEST_CASE("what Pillow must judge is told apart") {
  JpegDecoder decoder;
  const auto status_of = [&decoder](const Bytes& data) { return decoder.open(data); };
  CHECK(status_of({}) == DecodeStatus::kNotJpeg);
  CHECK(decoder.error() == "the data is no JPEG");
  CHECK(status_of(odd_image("names/really_png.JPEG")) == DecodeStatus::kNotJpeg);
  CHECK(status_of(odd_image("damage/junk_before_soi.jpg")) == DecodeStatus::kNotJpeg);
  CHECK(status_of(odd_image("coding/twelve_bit.jpg")) == DecodeStatus::kUnsupported);
  CHECK(decoder.error() == "12 bits a sample, not 8");
  CHECK(status_of(odd_image("tail/cut_at_60_percent.jpg")) == DecodeStatus::kIncomplete);
  CHECK(status_of(odd_image("tail/no_eoi.jpg")) == DecodeStatus::kIncomplete);
  CHECK(decoder.error() == "no end-of-image marker after the last scan");

  // Changes to the frame header of a good file: marker, precision, height, width, number.
  const Bytes& good = small_picture();
  std::size_t frame = 2;
  while (good[frame] != std::byte{0xFF} || good[frame + 1] != std::byte{0xC0}) ++frame;
  const auto changed = [&](std::size_t offset, int value) {
    Bytes data = good;
    data[frame + offset] = static_cast<std::byte>(value);
    return data;
  };
  CHECK(status_of(changed(1, 0xC3)) == DecodeStatus::kUnsupported);
  CHECK(decoder.error() == "coding process SOF3 is not decoded here");
  CHECK(status_of(changed(1, 0xC5)) == DecodeStatus::kUnsupported);
  CHECK(status_of(changed(6, 0)) == DecodeStatus::kUnsupported);
  CHECK(decoder.error() == "the header gives a size of 40 x 0");
  CHECK(status_of(changed(8, 0)) == DecodeStatus::kUnsupported);
  CHECK(status_of(Bytes(good.begin(), good.begin() + 100)) == DecodeStatus::kIncomplete);
  CHECK(decoder.error() == "the JPEG ends inside of its header");
  const Bytes no_scan(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(frame + 19));
  CHECK(status_of(no_scan) == DecodeStatus::kIncomplete);

  const Bytes two = encode(
      {.name = "two", .sampling = {{1, 1}, {1, 1}}, .input = JCS_UNKNOWN, .stored = JCS_UNKNOWN},
      20, 20);
  CHECK(status_of(two) == DecodeStatus::kUnsupported);
  CHECK(decoder.error() == "2 components, not 1, 3 or 4");
}

TEST_CASE("what libjpeg gives up on is damaged, in its own words") {
  JpegDecoder decoder;
  ConstImageView view;
  REQUIRE(decoder.open(odd_image("sampling/fractional.jpg")) == DecodeStatus::kOk);
  CHECK(decoder.decode({0, 0, 1, 1}, false, &view) == DecodeStatus::kDamaged);
  CHECK(decoder.error() == "Fractional sampling not implemented yet");
  // Asking again tells the same, and the next picture is not touched by it.
  CHECK(decoder.decode({0, 0, 1, 1}, false, &view) == DecodeStatus::kDamaged);
  CHECK(decoder.error() == "Fractional sampling not implemented yet");
  REQUIRE(decoder.open(small_picture()) == DecodeStatus::kOk);
  CHECK(decoder.error() == "");
  REQUIRE(decoder.decode({2, 3, 20, 20}, false, &view) == DecodeStatus::kOk);
  CHECK(count_wrong(view, decode_whole(small_picture()), {2, 3, 20, 20}) == 0);
}

TEST_CASE("markers where libjpeg would see them too late are left to Pillow") {
  const Bytes& good = small_picture();
  JpegDecoder decoder;
  const auto status_of = [&](std::size_t from_end, const std::vector<int>& values) {
    Bytes data = good;
    Bytes more;
    for (const int value : values) more.push_back(static_cast<std::byte>(value));
    data.insert(data.end() - static_cast<std::ptrdiff_t>(from_end), more.begin(), more.end());
    return decoder.open(data);
  };
  CHECK(status_of(2, {0xFF, 0xFE, 0, 4, 0x68, 0x69}) == DecodeStatus::kUnsupported);
  CHECK(decoder.error() == "a marker inside or behind the only scan");
  CHECK(status_of(2, {0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x55}) == DecodeStatus::kUnsupported);
  CHECK(status_of(100, {0xFF, 0x02}) == DecodeStatus::kUnsupported);
  CHECK(status_of(100, {0xFF, 0xD8}) == DecodeStatus::kIncomplete);
  CHECK(status_of(good.size() - 2, {0xFF, 0x01}) == DecodeStatus::kNotJpeg);
  CHECK(decoder.error() == "stray bytes between the segments of the header");
  CHECK(status_of(2, {0xFF, 0xD3}) == DecodeStatus::kOk);
  CHECK(status_of(0, {0xFF, 0xDA, 1, 2, 3}) == DecodeStatus::kOk);
}

TEST_CASE("pictures that libjpeg would smooth are left to Pillow") {
  JpegDecoder decoder;
  ConstImageView view;
  for (Kind kind : every_kind()) {
    if (!kind.progressive) continue;
    CAPTURE(kind.name);
    kind.unfinished = !kind.only_low;
    const Bytes data = encode(kind, 40, 30);
    REQUIRE(decoder.open(data) == DecodeStatus::kOk);
    CHECK(decoder.decode({0, 0, 5, 5}, false, &view) ==
          (kind.unfinished ? DecodeStatus::kUnsupported : DecodeStatus::kOk));
  }
}

TEST_CASE("boxes outside of the picture and decoding without one are refused") {
  JpegDecoder decoder;
  ConstImageView view;
  CHECK(decoder.decode({0, 0, 1, 1}, false, &view) == DecodeStatus::kNotJpeg);
  CHECK(decoder.error() == "no image is open");
  REQUIRE(decoder.open(small_picture()) == DecodeStatus::kOk);
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const Box& box : {Box{0, 0, 0, 1}, Box{0, 0, 1, 0}, Box{-1, 0, 1, 1}, Box{0, -1, 1, 1},
                         Box{30, 0, 1, 1}, Box{0, 40, 1, 1}, Box{0, 0, 31, 1}, Box{0, 0, 1, 41},
                         Box{29, 0, 2, 1}, Box{kHuge, kHuge, kHuge, kHuge}}) {
    thrown<InvalidArgument>([&] { decoder.decode(box, false, &view); });
  }
  const auto error = thrown<InvalidArgument>([&] { decoder.decode({29, 4, 2, 3}, false, &view); });
  CHECK(std::string(error.what()) ==
        "the box of 3 x 2 pixels at column 4, row 29 is not inside of the image of 40 x 30");
  REQUIRE(decoder.open({}) == DecodeStatus::kNotJpeg);
  CHECK(decoder.decode({0, 0, 1, 1}, false, &view) == DecodeStatus::kNotJpeg);
}

TEST_CASE("who decodes: told, chosen, and given up on after memory was given back") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kOwn);
  Kind kind{.name = "", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .restart_interval = 2};
  const Bytes data = encode(kind, 120, 90);
  const Decoded whole = decode_whole(data);
  const Box box = {40, 50, 30, 30};
  const auto path_of = [&](const Bytes& opened) {
    ConstImageView view;
    REQUIRE(decoder.open(opened) == DecodeStatus::kOk);
    REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
    if (&opened == &data) CHECK(count_wrong(view, whole, box) == 0);
    return decoder.path();
  };
  CHECK((path_of(data) == DecodePath::kOwn));
  decoder.set_reader(JpegReader::kLibjpeg);
  CHECK((path_of(data) == DecodePath::kSpliced));
  decoder.set_splicing(Splicing::kNever);
  CHECK((path_of(data) == DecodePath::kLibjpeg));
  decoder.set_reader(JpegReader::kOwn);
  CHECK((path_of(data) == DecodePath::kOwn));
  kind.progressive = true;
  CHECK((path_of(encode(kind, 120, 90)) == DecodePath::kLibjpeg));
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  decoder.shrink(0);
  CHECK(decoder.held_bytes() == 0);
  ConstImageView view;
  REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
  CHECK(count_wrong(view, whole, box) == 0);
  CHECK((decoder.path() == DecodePath::kLibjpeg));
}

TEST_CASE("unless told otherwise ours decodes where it has vector kernels") {
  JpegDecoder decoder;
  const Bytes data = encode({.name = ""}, 60, 40);
  ConstImageView view;
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  REQUIRE(decoder.decode({10, 4, 20, 30}, false, &view) == DecodeStatus::kOk);
  const bool is_own = dts::best_simd_level() != dts::SimdLevel::kGeneric;
  CHECK((decoder.path() == (is_own ? DecodePath::kOwn : DecodePath::kLibjpeg)));
}

TEST_CASE("checking: both ways, and an error that names them where they differ") {
  JpegDecoder decoder;
  decoder.set_reader(JpegReader::kOwn);
  decoder.set_checking(true);
  Bytes data = encode({.name = ""}, 60, 40);
  const Decoded whole = decode_whole(data);
  const Box box = {10, 4, 20, 30};
  ConstImageView view;
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  REQUIRE(decoder.decode(box, false, &view) == DecodeStatus::kOk);
  CHECK((decoder.path() == DecodePath::kOwn));
  CHECK(count_wrong(view, whole, box) == 0);
  // Ours has read the table, libjpeg has not.
  const std::size_t table = segment_at(data, 0xDB) + 5;
  data[table] = static_cast<std::byte>(value_at(data, table) + 40);
  const auto error = thrown<std::logic_error>([&] { decoder.decode(box, false, &view); });
  CHECK(std::string(error.what()) ==
        "the decoder of torch_dts and " + jpeg_library() +
            " read the box of 30 x 20 pixels at column 4, row 10 of the image of 60 x 40 "
            "differently; decoder=\"libjpeg\" leaves ours out");
  decoder.set_checking(false);
  REQUIRE(decoder.open(data) == DecodeStatus::kOk);
  CHECK(decoder.decode(box, false, &view) == DecodeStatus::kOk);
}

}  // namespace dts::testing
