// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_canvas.h"

#include "image/flip.h"
#include "image/pictures.h"
#include "jpeg/encoder.h"
#include "support.h"

namespace {

using dts::Box;
using dts::ConstImageView;
using dts::DecodeStatus;
using dts::Filter;
using dts::ImageSize;
using dts::ImageView;
using dts::PadMode;
using dts::PassOrder;
using dts::SampleCanvas;
using dts::testing::draw;
using dts::testing::Picture;
using dts::testing::Random;

// What finish() gives, with flips and strides undone.
Picture finished(SampleCanvas& canvas) {
  ConstImageView view;
  bool flip = false;
  REQUIRE(canvas.finish(&view, &flip) == DecodeStatus::kOk);
  Picture out(view.height, view.width, view.channels);
  for (std::int64_t y = 0; y < out.height; ++y) {
    std::copy(view.row(y), view.row(y) + view.width * view.channels, out.at(y, 0));
  }
  if (flip) dts::flip_horizontal(out.view());
  return out;
}

// Each operation done at once to the whole picture.
struct Plain {
  Picture picture;

  void resize(const ImageSize& size, Filter filter) {
    dts::Resampler resampler;
    Picture out(size.height, size.width, picture.channels);
    const auto plan = resampler.plan(filter, picture.width, picture.height, size.width, size.height,
                                     {0, 0, size.height, size.width});
    const Picture source = dts::testing::cut(picture, plan.source_box);
    resampler.run(plan, source.view(), out.view());
    picture = out;
  }
  void pad(const std::array<std::int64_t, 4>& padding, PadMode mode,
           std::span<const std::uint8_t> fill) {
    Picture out(picture.height + padding[1] + padding[3], picture.width + padding[0] + padding[2],
                picture.channels);
    dts::pad_image(std::as_const(picture).view(), padding, mode, fill, out.view());
    picture = out;
  }
};

// Changes pixels so that their places matter.
void change(const ImageView& view) {
  for (std::int64_t y = 0; y < view.height; ++y) {
    for (std::int64_t i = 0; i < view.width * view.channels; ++i) {
      view.row(y)[i] = static_cast<std::uint8_t>(view.row(y)[i] * 3 + y + i);
    }
  }
}

void random_step(Random& random, SampleCanvas& canvas, Plain& plain) {
  const ImageSize size = canvas.size();
  const std::uint8_t fill[] = {7};
  switch (random() % 7) {
    case 0: {
      const auto height = draw(random, 1, size.height), width = draw(random, 1, size.width);
      const Box box = {draw(random, 0, size.height - height), draw(random, 0, size.width - width),
                       height, width};
      canvas.crop(box);
      plain.picture = dts::testing::cut(plain.picture, box);
      return;
    }
    case 1:
    case 2: {
      const ImageSize to = {draw(random, 1, 30), draw(random, 1, 30)};
      const auto filter = static_cast<Filter>(random() % 6);
      REQUIRE(canvas.resize(to, filter) == DecodeStatus::kOk);
      plain.resize(to, filter);
      return;
    }
    case 3: {
      const std::array<std::int64_t, 4> padding = {draw(random, 0, 4), draw(random, 0, 4),
                                                   draw(random, 0, 4), draw(random, 0, 4)};
      const auto mode = random() % 2 == 0 ? PadMode::kConstant : PadMode::kEdge;
      REQUIRE(canvas.pad(padding, mode, fill) == DecodeStatus::kOk);
      plain.pad(padding, mode, fill);
      return;
    }
    case 4:
      canvas.flip_horizontal();
      dts::flip_horizontal(plain.picture.view());
      return;
    case 5:
      canvas.flip_vertical();
      dts::flip_vertical(plain.picture.view());
      return;
    default: {
      ImageView pixels;
      REQUIRE(canvas.edit_upright(&pixels) == DecodeStatus::kOk);
      change(pixels);
      change(plain.picture.view());
    }
  }
}

// One channel as three equal ones.
Picture repeated(const Picture& gray) {
  Picture color(gray.height, gray.width, 3);
  for (std::int64_t y = 0; y < gray.height; ++y) {
    for (std::int64_t x = 0; x < gray.width; ++x) {
      for (int channel = 0; channel < 3; ++channel)
        color.view().row(y)[3 * x + channel] = *gray.at(y, x);
    }
  }
  return color;
}

}  // namespace

TEST_CASE("pixels: what is put off gives what is done at once") {
  Random random(11);
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  for (int round = 0; round < 1500; ++round) {
    CAPTURE(round);
    const std::int64_t channels = round % 3 == 0 ? 1 : 3;
    const Picture source = dts::testing::random_picture(random, draw(random, 1, 30),
                                                        draw(random, 1, 30), channels, 0, 5);
    const Picture before = source;
    Plain plain{dts::testing::cut(source, {0, 0, source.height, source.width})};
    // Every other gray image is to be RGB.
    const bool is_repeated = channels == 1 && round % 2 == 0;
    if (is_repeated) plain.picture = repeated(source);
    REQUIRE(canvas.open(source.view(), is_repeated ? 3 : channels) == DecodeStatus::kOk);
    CHECK(canvas.channels() == (is_repeated ? 3 : channels));
    for (std::uint32_t k = random() % 7; k > 0; --k) random_step(random, canvas, plain);
    CHECK(canvas.size() == ImageSize{plain.picture.height, plain.picture.width});
    CHECK(finished(canvas).pixels() == plain.picture.pixels());
    CHECK(source.bytes == before.bytes);  // the caller's picture is never written
  }
}

TEST_CASE("JPEGs: what is put off gives what is done to the whole picture") {
  Random random(12);
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  for (const auto& kind : dts::testing::every_kind()) {
    if (kind.unfinished || kind.only_low) continue;
    CAPTURE(kind.name);
    const dts::testing::Bytes data = dts::testing::encode(kind, 61, 43);
    const dts::testing::Decoded whole = dts::testing::decode_whole(data);
    REQUIRE(whole.channels == 3);
    for (int round = 0; round < 6; ++round) {
      Plain plain{Picture(whole.height, whole.width, 3)};
      plain.picture.bytes = whole.pixels;
      REQUIRE(canvas.open(data, 0) == DecodeStatus::kOk);
      CHECK(canvas.channels() == 3);
      for (std::uint32_t k = random() % 5; k > 0; --k) random_step(random, canvas, plain);
      CHECK(finished(canvas).pixels() == plain.picture.pixels());
    }
  }
}

TEST_CASE("an edit leaves flips open, a replacement may have other channels") {
  Random random(2);
  const Picture source = dts::testing::random_picture(random, 5, 6, 3);
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  REQUIRE(canvas.open(source.view(), 3) == DecodeStatus::kOk);
  canvas.flip_vertical();
  canvas.flip_horizontal();
  ImageView pixels;
  REQUIRE(canvas.edit(&pixels) == DecodeStatus::kOk);
  pixels.row(0)[0] = 77;  // ends up at the bottom right
  ConstImageView present;
  ImageView next;
  REQUIRE(canvas.replace(1, &present, &next) == DecodeStatus::kOk);
  CHECK(next.channels == 1);
  for (std::int64_t y = 0; y < 5; ++y) {
    for (std::int64_t x = 0; x < 6; ++x) next.row(y)[x] = present.row(y)[3 * x];
  }
  CHECK(canvas.channels() == 1);
  const Picture result = finished(canvas);
  CHECK(*result.at(4, 5) == 77);
  CHECK(*result.at(0, 0) == *source.at(4, 5));
}

TEST_CASE("sizes that can't be held are refused with both sizes") {
  const Picture source = dts::testing::pattern_picture(2, 3, 1);
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  REQUIRE(canvas.open(source.view(), 1) == DecodeStatus::kOk);
  CHECK(canvas.resize({0, 5}, Filter::kBox) == DecodeStatus::kUnsupported);
  CHECK(canvas.error() == "an image of 3 x 2 would be resized to 5 x 0 pixels");
  CHECK(canvas.resize({5, (1 << 24) + 1}, Filter::kBox) == DecodeStatus::kUnsupported);
  CHECK(canvas.pad({-2, 0, -1, 0}, PadMode::kConstant, {}) == DecodeStatus::kUnsupported);
  CHECK(canvas.error() == "an operation gives an image of 0 x 2 pixels");
  CHECK(canvas.pad({65535, 65535, 65535, 65535}, PadMode::kConstant, {}) ==
        DecodeStatus::kUnsupported);
  CHECK(canvas.error() == "an operation gives an image of 131073 x 131072 pixels");
  CHECK(canvas.open(ConstImageView{nullptr, 0, 4, 3, 12}, 3) == DecodeStatus::kUnsupported);
  CHECK(canvas.error() == "the image has 4 x 0 pixels");
}

TEST_CASE("what decoding says is passed on, and the next image is not touched by it") {
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  CHECK(canvas.open(dts::testing::bytes_of("GIF89a"), 0) == DecodeStatus::kNotJpeg);
  CHECK_FALSE(canvas.error().empty());
  const auto data = dts::testing::encode({.name = "plain"}, 40, 30);
  CHECK(canvas.open(dts::ConstByteSpan(data).first(data.size() / 2), 0) ==
        DecodeStatus::kIncomplete);
  REQUIRE(canvas.open(data, 0) == DecodeStatus::kOk);
  CHECK(canvas.error().empty());
  CHECK(finished(canvas).bytes == dts::testing::decode_whole(data).pixels);
}

TEST_CASE("images with more pixels than allowed are refused before decoding") {
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  const auto data = dts::testing::encode({.name = "plain"}, 40, 30);
  CHECK(canvas.open(data, 1200) == DecodeStatus::kOk);
  CHECK(canvas.open(data, 1199) == DecodeStatus::kUnsupported);
  CHECK(canvas.error() == "the image has 40 x 30 pixels, more than the limit of 1199");
}

TEST_CASE("gray files are RGB, or one channel where that is wanted") {
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  const auto gray = dts::testing::encode(
      {.name = "gray", .sampling = {{1, 1}}, .input = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE}, 40,
      30);
  const auto colour = dts::testing::encode({.name = "plain"}, 40, 30);
  REQUIRE(canvas.open(gray, 0) == DecodeStatus::kOk);
  CHECK(canvas.channels() == 3);
  CHECK(finished(canvas).bytes == dts::testing::decode_whole(gray).pixels);
  REQUIRE(canvas.open(gray, 0, true) == DecodeStatus::kOk);
  CHECK(canvas.channels() == 1);
  CHECK(finished(canvas).bytes == dts::testing::decode_whole(gray, true).pixels);
  REQUIRE(canvas.open(colour, 0, true) == DecodeStatus::kOk);
  CHECK(canvas.channels() == 3);
  CHECK(finished(canvas).bytes == dts::testing::decode_whole(colour).pixels);
}

TEST_CASE("memory is kept until it is given back") {
  SampleCanvas canvas(PassOrder::kVerticalIfShrunkMore);
  const auto data = dts::testing::encode({.name = "plain"}, 400, 300);
  REQUIRE(canvas.open(data, 0) == DecodeStatus::kOk);
  ImageView pixels;
  REQUIRE(canvas.edit(&pixels) == DecodeStatus::kOk);
  const std::size_t held = canvas.held_bytes();
  CHECK(held >= 2 * 400 * 300 * 3);
  canvas.shrink(held);
  CHECK(canvas.held_bytes() == held);
  canvas.shrink(held - 1);
  CHECK(canvas.held_bytes() == 0);
  REQUIRE(canvas.open(data, 0) == DecodeStatus::kOk);
  CHECK(finished(canvas).bytes == dts::testing::decode_whole(data).pixels);
}
