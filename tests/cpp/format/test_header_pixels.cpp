// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "format/header.h"
#include "support.h"

namespace dts {
namespace {

using testing::check_corrupt;

Header pixels(const std::string& type, std::uint32_t width, std::uint32_t height,
              std::uint32_t channels, std::uint32_t num_samples) {
  Header header;
  header.dataset_type = type;
  header.num_classes = 10;
  header.image_width = width;
  header.image_height = height;
  header.num_channels = channels;
  header.color_type = channels == 1 ? "GRAY" : "RGB";
  header.num_samples = num_samples;
  header.total_blocks = header.num_blocks = 1;
  header.header_bytes = 256;
  header.block_header_size = 0;
  header.pic_alignment = 0;
  return header;
}

TEST_CASE("parse_header: the pixel sets") {
  for (const auto& [type, padded] : {std::pair<std::string, std::string>{"MNIST", "   MNIST"},
                                     {"CIFAR10", " CIFAR10"},
                                     {"CIFAR100", "CIFAR100"},
                                     {"PIXELS", "  PIXELS"}}) {
    const auto bytes = serialize_header(pixels(type, 28, 28, 1, 7));
    CHECK(testing::text_of(ConstByteSpan(bytes).subspan(8, 8)) == padded);
    const Header header = parse_header(bytes, 256 + 7 * 785, "a");
    CHECK(header.dataset_type == type);
    CHECK(header.color_type == "GRAY");
    CHECK_FALSE(header.has_blocks());
    CHECK(header.num_samples == 7);
  }
}

TEST_CASE("parse_header: old pixel files lie about their length") {
  Header header = pixels("MNIST", 28, 28, 1, 7);
  header.total_bytes = 256 + 7 * 2353;
  header.block_bytes = 7 * 2353;
  CHECK(parse_header(serialize_header(header), 256 + 7 * 785, "a").num_samples == 7);
}

TEST_CASE("parse_header: a pixel file that is cut off") {
  const auto bytes = serialize_header(pixels("CIFAR10", 32, 32, 3, 10));
  check_corrupt([&] { parse_header(bytes, 256 + 30729, "a"); }, 30985,
                "the file is cut off: it has 30985 bytes, room for 9 samples, expected 10 of "
                "3073 bytes");
  check_corrupt([&] { parse_header(bytes, 200, "a"); }, 200,
                "the file is cut off: it has 200 bytes, room for 0 samples, expected 10 of "
                "3073 bytes");
  CHECK(parse_header(bytes, 256 + 30730, "a").num_samples == 10);
}

TEST_CASE("parse_header: shapes whose product would wrap") {
  const auto parse = [](std::uint32_t width, std::uint32_t height, std::uint32_t channels) {
    parse_header(serialize_header(pixels("PIXELS", width, height, channels, 1u << 30)), 1 << 20,
                 "a");
  };
  check_corrupt([&] { parse(0, 28, 1); }, 36,
                "image_width is 0, expected 1 .. 65535 for a pixel file");
  check_corrupt([&] { parse(28, 65536, 1); }, 40,
                "image_height is 65536, expected 1 .. 65535 for a pixel file");
  check_corrupt([&] { parse(28, 28, 0xFFFFFFFF); }, 44,
                "num_channels is 4294967295, expected 1 .. 65535 for a pixel file");
  check_corrupt([&] { parse(65535, 65535, 65535); }, 1 << 20,
                "the file is cut off: it has 1048576 bytes, room for 0 samples, expected "
                "1073741824 of 281462092005376 bytes");
}

TEST_CASE("parse_header: a pixel file's header area") {
  Header header = pixels("MNIST", 28, 28, 1, 1);
  header.header_bytes = 144;
  check_corrupt([&] { parse_header(serialize_header(header), 10'000, "a"); }, 80,
                "header_bytes is 144, expected 256");
}

}  // namespace
}  // namespace dts
