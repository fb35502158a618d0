// SPDX-License-Identifier: Apache-2.0
#include "format/pixel_writer.h"

#include <doctest/doctest.h>

#include <cerrno>

#include "base/crc32.h"
#include "format/pixel_reader.h"
#include "format/small_pixels.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::check_message;
using testing::small_pixels_with_sections;
using testing::SmallPixels;
using testing::TempDir;
using Numbers = std::vector<std::int64_t>;

// What convert knows of a header.
Header start_header(std::uint32_t num_samples, std::uint32_t height, std::uint32_t width,
                    std::uint32_t channels, const std::string& type) {
  Header header;
  header.dataset_type = type;
  header.num_classes = 3;
  header.num_samples = num_samples;
  header.image_height = height;
  header.image_width = width;
  header.num_channels = channels;
  return header;
}

TEST_CASE("PixelWriter: every byte of a small file") {
  const TempDir dir;
  SmallPixels file = small_pixels_with_sections();
  {
    PixelWriter writer(dir / "a.dts", false, start_header(3, 5, 7, 3, "PIXELS"));
    const ConstByteSpan pixels(file.pixels);
    writer.write_pixels(pixels.first(100));  // pieces end anywhere
    writer.write_pixels(pixels.subspan(100, 0));
    writer.write_pixels(pixels.subspan(100));
    CHECK(dir.names() == std::vector<std::string>{"a.dts.partial"});
    writer.finish(Numbers{2, 0, 1}, file.sections[1].second, file.sections[2].second);
    CHECK(dir.names() == std::vector<std::string>{"a.dts"});
    check_message<InvalidArgument>([&] { writer.write_pixels({}); }, "the writer has finished");
    check_message<InvalidArgument>([&] { writer.finish({}, {}, {}); }, "the writer has finished");
  }
  const Bytes expected = file.bytes();
  CHECK(testing::read_range(dir / "a.dts", 0, testing::size_of(dir / "a.dts")) == expected);
  CHECK(dir.names() == std::vector<std::string>{"a.dts"});
}

TEST_CASE("PixelWriter: the header of each kind of set") {
  struct Kind {
    std::string type, padded, color;
    std::uint32_t side, channels;
  };
  for (const Kind& kind :
       {Kind{"MNIST", "   MNIST", "GRAY", 28, 1}, Kind{"CIFAR10", " CIFAR10", " RGB", 32, 3},
        Kind{"CIFAR100", "CIFAR100", " RGB", 32, 3}, Kind{"PIXELS", "  PIXELS", "GRAY", 32, 1},
        Kind{"PIXELS", "  PIXELS", " RGB", 28, 3}}) {
    const TempDir dir;
    const std::string path = dir / "a.dts";
    Header start = start_header(2, kind.side, kind.side, kind.channels, kind.type);
    start.is_training = 0;
    const std::uint32_t sample = kind.side * kind.side * kind.channels;
    {
      PixelWriter writer(path, false, start);
      writer.write_pixels(testing::noise(2 * sample, 1));
      writer.finish(Numbers{1, 2}, {}, {});
    }
    const Bytes head = testing::read_range(path, 0, 256);
    const auto text = [&](std::size_t at, std::size_t size) {
      return testing::text_of(ConstByteSpan(head).subspan(at, size));
    };
    const auto u32 = [&](std::size_t at) { return load_le<std::uint32_t>(head.data() + at); };
    const std::uint32_t payload = 2 * (1 + sample);
    CHECK(text(0, 4) == ".DTS");
    CHECK(text(4, 4) == std::string("\3\0\0\0", 4));
    CHECK(text(8, 8) == kind.padded);
    CHECK(text(32, 4) == "NHWC");
    CHECK(text(48, 4) == kind.color);
    const std::vector<std::pair<std::size_t, std::uint32_t>> numbers = {
        {16, 0},
        {20, 0},
        {24, 0},
        {28, 3},
        {36, kind.side},
        {40, kind.side},
        {44, kind.channels},
        {52, 2},
        {56, 1},
        {60, 0},
        {64, 1},
        {68, 1},
        {80, 256},
        {84, payload},
        {88, 0},
        {92, payload},
        {96, 0},
        {100, 0},
        {104, kind.side * kind.side},
        {108, 2}};
    for (const auto& [at, value] : numbers) {
      CAPTURE(at);
      CHECK(u32(at) == value);
    }
    CHECK(load_le<std::uint64_t>(head.data() + 72) == testing::size_of(path));
    CHECK(load_le<float>(head.data() + 112) == 1.0f);
    CHECK(Bytes(head.begin() + 116, head.begin() + 140) == Bytes(24));
    CHECK(Bytes(head.begin() + 144, head.end()) == Bytes(112));
    const std::size_t behind = testing::size_of(path) - 256;
    CHECK(u32(140) == crc32(0, testing::read_range(path, 256, behind)));
    CHECK(DtsFile::open(path)->labels() == std::vector<std::int32_t>{1, 2});
  }
}

TEST_CASE("PixelWriter: headers that no file can have") {
  const TempDir dir;
  const auto check = [&](const Header& header, const std::string& message) {
    check_message<InvalidArgument>([&] { PixelWriter(dir / "a", false, header); }, message);
    CHECK(dir.names().empty());
  };
  const auto with = [](auto change) {
    Header header = start_header(3, 28, 28, 1, "MNIST");
    change(header);
    return header;
  };
  check(with([](Header& h) { h.num_samples = 0; }), "0 samples, expected 1 .. 1073741824");
  check(with([](Header& h) { h.num_classes = 0; }),
        "0 classes, expected 1 .. 256 in a pixel file, whose labels are bytes");
  check(with([](Header& h) { h.num_classes = 257; }),
        "257 classes, expected 1 .. 256 in a pixel file, whose labels are bytes");
  check(with([](Header& h) { h.is_training = 2; }), "is_training is 2, expected 0 or 1");
  const std::string limits =
      " (height, width, channels), expected sides of 1 .. 65535 and 1 or 3 channels";
  check(with([](Header& h) { h.image_height = 0; }), "images of 0 x 28 x 1" + limits);
  check(with([](Header& h) { h.image_width = 65536; }), "images of 28 x 65536 x 1" + limits);
  check(with([](Header& h) { h.num_channels = 2; }), "images of 28 x 28 x 2" + limits);
  check(with([](Header& h) { h.dataset_type = "PIXELS"; }),
        "dataset_type is 'PIXELS', expected 'MNIST' for images of 28 x 28 x 1");
  check(with([](Header& h) { h.image_height = 27; }),
        "dataset_type is 'MNIST', expected 'PIXELS' for images of 27 x 28 x 1");
  // One sample less is 2^32 - 721 bytes.
  check(with([](Header& h) { h.num_samples = 5'471'296; }),
        "5471296 samples of 785 bytes are 4294967360 bytes, expected less than 4 GiB in a pixel "
        "file");
}

TEST_CASE("PixelWriter: pixels and labels that do not fit") {
  const TempDir dir;
  {
    PixelWriter writer(dir / "a", false, start_header(2, 4, 4, 1, "PIXELS"));
    check_message<InvalidArgument>([&] { writer.finish(Numbers{0, 1}, {}, {}); },
                                   "0 bytes of pixels were written, expected 32");
    writer.write_pixels(Bytes(31));
    check_message<InvalidArgument>([&] { writer.write_pixels(Bytes(2)); },
                                   "2 bytes of pixels, expected 1 at most");
    writer.write_pixels(Bytes(1));
    check_message<InvalidArgument>([&] { writer.finish(Numbers{0}, {}, {}); },
                                   "1 labels, expected 2");
    check_message<InvalidArgument>([&] { writer.finish(Numbers{0, 3}, {}, {}); },
                                   "label 1 is 3, expected 0 .. 2");
    check_message<InvalidArgument>([&] { writer.finish(Numbers{-1, 0}, {}, {}); },
                                   "label 0 is -1, expected 0 .. 2");
  }
  CHECK(dir.names().empty());
}

TEST_CASE("PixelWriter: 256 classes") {
  const TempDir dir;
  Header header = start_header(2, 1, 1, 1, "PIXELS");
  header.num_classes = 256;
  PixelWriter writer(dir / "a", false, header);
  writer.write_pixels(Bytes(2));
  writer.finish(Numbers{255, 0}, {}, {});
  CHECK(DtsFile::open(dir / "a")->labels() == std::vector<std::int32_t>{255, 0});
}

TEST_CASE("PixelWriter: an existing file") {
  const TempDir dir;
  testing::patch(dir / "a", 0, testing::bytes_of("kept"));
  const Header header = start_header(1, 1, 1, 1, "PIXELS");
  CHECK(testing::thrown<IoError>([&] { PixelWriter(dir / "a", false, header); }).code == EEXIST);
  {
    PixelWriter writer(dir / "a", true, header);  // given up
    writer.write_pixels(Bytes(1));
  }
  CHECK(testing::read_range(dir / "a", 0, testing::size_of(dir / "a")) ==
        testing::bytes_of("kept"));
  CHECK(dir.names() == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace dts
