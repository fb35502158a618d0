// SPDX-License-Identifier: Apache-2.0
// Headers of JPEG-block files; test_header_pixels.cpp has the pixel files.
#include "format/header.h"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <limits>

#include "base/error.h"
#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_corrupt;

constexpr std::uint64_t kMiB = 1 << 20;

// Every field different from every other, so that a swapped pair shows.
Header distinct() {
  Header header;
  header.version = {3, 1, 4, 5};
  header.is_training = 0;
  header.compress_level = 2;
  header.val_set_prep = 1;
  header.num_classes = 1000;
  header.image_width = 7;
  header.image_height = 8;
  header.num_channels = 3;
  header.num_samples = 1234;
  header.num_volumes = 5;
  header.volume_id = 4;
  header.total_blocks = 99;
  header.num_blocks = 10;
  header.total_bytes = 0x1122334455;
  header.block_bytes = 10 * 32 * kMiB;
  header.block_size = 32 * kMiB;
  header.block_header_size = 16384;
  header.max_pic_area = 640 * 480;
  header.max_pic_per_block = 140;
  header.compression_ratio = 0.5f;
  header.normalize_mean = {1.0f, 2.0f, 3.0f};
  header.normalize_std = {4.0f, 5.0f, 6.0f};
  header.crc_code = 0xCAFEBABE;
  return header;
}

// The same, written out by hand.
Bytes golden() {
  const std::string text =
      ".DTS"
      "\x03\x01\x04\x05"
      "IMAGENET" +
      std::string("\x00\x00\x00\x00", 4) + std::string("\x02\x00\x00\x00", 4)             // 16
      + std::string("\x01\x00\x00\x00", 4) + std::string("\xe8\x03\x00\x00", 4)           // 24
      + "NHWC" + std::string("\x07\x00\x00\x00", 4) + std::string("\x08\x00\x00\x00", 4)  // 32
      + std::string("\x03\x00\x00\x00", 4) + " RGB"                                       // 44
      + std::string("\xd2\x04\x00\x00", 4) + std::string("\x05\x00\x00\x00", 4)           // 52
      + std::string("\x04\x00\x00\x00", 4) + std::string("\x63\x00\x00\x00", 4)           // 60
      + std::string("\x0a\x00\x00\x00", 4)                                                // 68
      + std::string("\x55\x44\x33\x22\x11\x00\x00\x00", 8)                                // 72
      + std::string("\x00\x00\x00\x01", 4)                                                // 80
      + std::string("\x00\x00\x00\x14\x00\x00\x00\x00", 8)                                // 84
      + std::string("\x00\x00\x00\x02", 4) + std::string("\x00\x40\x00\x00", 4)           // 92
      + std::string("\x40\x00\x00\x00", 4) + std::string("\x00\xb0\x04\x00", 4)           // 100
      + std::string("\x8c\x00\x00\x00", 4)                                                // 108
      + std::string("\x00\x00\x00\x3f", 4)                                                // 112
      + std::string("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40", 12)               // 116
      + std::string("\x00\x00\x80\x40\x00\x00\xa0\x40\x00\x00\xc0\x40", 12)               // 128
      + std::string("\xbe\xba\xfe\xca", 4);                                               // 140
  return bytes_of(text);
}

constexpr std::uint64_t kFileBytes = 16 * kMiB + 10 * 32 * kMiB;

TEST_CASE("serialize_header: golden bytes") {
  const auto bytes = serialize_header(distinct());
  CHECK(Bytes(bytes.begin(), bytes.end()) == golden());
}

TEST_CASE("parse_header: every field") {
  const Header h = parse_header(golden(), kFileBytes, "a.dts");
  CHECK(h.version == std::array<std::uint8_t, 4>{3, 1, 4, 5});
  CHECK(h.dataset_type == "IMAGENET");
  CHECK(h.is_training == 0);
  CHECK(h.compress_level == 2);
  CHECK(h.val_set_prep == 1);
  CHECK(h.num_classes == 1000);
  CHECK(h.image_width == 7);
  CHECK(h.image_height == 8);
  CHECK(h.num_channels == 3);
  CHECK(h.color_type == "RGB");
  CHECK(h.num_samples == 1234);
  CHECK(h.num_volumes == 5);
  CHECK(h.volume_id == 4);
  CHECK(h.total_blocks == 99);
  CHECK(h.num_blocks == 10);
  CHECK(h.total_bytes == 0x1122334455);
  CHECK(h.header_bytes == 16 * kMiB);
  CHECK(h.block_bytes == 320 * kMiB);
  CHECK(h.block_size == 32 * kMiB);
  CHECK(h.block_header_size == 16384);
  CHECK(h.pic_alignment == 64);
  CHECK(h.max_pic_area == 307200);
  CHECK(h.max_pic_per_block == 140);
  CHECK(h.compression_ratio == 0.5f);
  CHECK(h.normalize_mean == std::array<float, 3>{1, 2, 3});
  CHECK(h.normalize_std == std::array<float, 3>{4, 5, 6});
  CHECK(h.crc_code == 0xCAFEBABE);
  CHECK(h.has_blocks());
  CHECK(h.index_room() == 1364);
}

TEST_CASE("index_room: as the format counts it") {
  Header header;
  CHECK(header.index_room() == 340);  // 4096
  header.block_header_size = 16384;
  CHECK(header.index_room() == 1364);
  header.block_header_size = 64;
  CHECK(header.index_room() == 4);
}

TEST_CASE("serialize_header: text that is too long") {
  Header header;
  header.dataset_type = "IMAGENET1";
  testing::check_message<InvalidArgument>([&] { serialize_header(header); },
                                          "header text 'IMAGENET1' is longer than 8 characters");
}

TEST_CASE("parse_header: what is no .dts file") {
  check_corrupt([] { parse_header({}, 0, "a"); }, 0, "not a .dts file: it is empty");
  check_corrupt([] { parse_header(bytes_of("\xff\xd8\xff\xe0"), 4, "a"); }, 0,
                "not a .dts file: it starts with '\\xff\\xd8\\xff\\xe0', expected '.DTS'");
  check_corrupt([] { parse_header(bytes_of("PK"), 2, "a"); }, 0,
                "not a .dts file: it starts with 'PK', expected '.DTS'");
  CHECK(testing::thrown<CorruptFile>([] { parse_header({}, 0, "the/path"); }).path == "the/path");
}

TEST_CASE("parse_header: cut off anywhere in the header") {
  const Bytes bytes = golden();
  for (std::size_t size = 4; size < kHeaderBytes; ++size) {
    check_corrupt([&] { parse_header(ConstByteSpan(bytes).first(size), size, "a"); },
                  static_cast<std::int64_t>(size),
                  "the file is cut off in its header: it has " + std::to_string(size) +
                      " bytes, expected at least 144");
  }
}

TEST_CASE("parse_header: cut off in the blocks") {
  for (const std::uint64_t size : {std::uint64_t{144}, 16 * kMiB, kFileBytes - 1}) {
    check_corrupt([&] { parse_header(golden(), size, "a"); }, static_cast<std::int64_t>(size),
                  "the file is cut off: it has " + std::to_string(size) +
                      " bytes, expected at least 352321536 (header area and 10 blocks)");
  }
  CHECK(parse_header(golden(), kFileBytes + 1000, "a").num_blocks == 10);
}

TEST_CASE("parse_header: fields that can't be") {
  struct Case {
    std::size_t offset;
    Bytes value;
    std::string message;
  };
  const auto u32 = [](std::uint32_t value) {
    Bytes bytes(4);
    store_le(bytes.data(), value);
    return bytes;
  };
  const std::vector<Case> cases = {
      {4, bytes_of("\x04"),
       "format version is 4, expected 3: the file is newer than this reader; update torch_dts"},
      {4, bytes_of("\x02"), "format version is 2, expected 3"},
      {8, bytes_of("  CIFAR1"),
       "dataset_type is 'CIFAR1', expected IMAGENET, CIFAR10, CIFAR100, MNIST or PIXELS"},
      {16, u32(2), "is_training is 2, expected 0 or 1"},
      {20, u32(4), "compress_level is 4, expected 0 .. 3"},
      {28, u32(0xFFFFFFFF), "num_classes is 4294967295, expected at most 16777216"},
      {32, bytes_of("NCHW"), "tensor_layout is 'NCHW', expected 'NHWC'"},
      {52, u32(1u << 30 | 1), "num_samples is 1073741825, expected at most 1073741824"},
      {52, u32(13641),
       "num_samples is 13641, expected at most 13640 = num_blocks 10 * index room 1364"},
      {60, u32(5), "volume_id is 5, expected below num_volumes 5"},
      {68, u32(11),
       "block_bytes is 335544320, expected 369098752 = num_blocks 11 * block_size 33554432"},
      {68, u32(0xFFFFFFFF),
       "block_bytes is 335544320, expected 144115188042301440 = num_blocks 4294967295 * "
       "block_size 33554432"},
      {80, u32(256), "header_bytes is 256, expected 16777216"},
      {84, u32(0), "block_bytes is 0, expected 335544320 = num_blocks 10 * block_size 33554432"},
      {92, u32(0), "block_size is 0, expected a multiple of 16777216"},
      {92, u32(8 * kMiB), "block_size is 8388608, expected a multiple of 16777216"},
      {96, u32(0),
       "block_header_size is 0, expected a multiple of 64, at least 64 and below block_size "
       "33554432"},
      {96, u32(4100),
       "block_header_size is 4100, expected a multiple of 64, at least 64 and below block_size "
       "33554432"},
      {96, u32(32 * kMiB),
       "block_header_size is 33554432, expected a multiple of 64, at least 64 and below "
       "block_size 33554432"},
      {100, u32(1), "pic_alignment is 1, expected 64"},
  };
  for (const Case& c : cases) {
    Bytes bytes = golden();
    std::copy(c.value.begin(), c.value.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(c.offset));
    const bool about_block_bytes = c.message.starts_with("block_bytes");
    check_corrupt([&] { parse_header(bytes, kFileBytes, "a"); },
                  about_block_bytes ? 84 : static_cast<std::int64_t>(c.offset), c.message);
  }
}

TEST_CASE("parse_header: samples need blocks") {
  Header header;
  header.num_samples = 1;
  const auto bytes = serialize_header(header);
  check_corrupt([&] { parse_header(bytes, 16 * kMiB, "a"); }, 52,
                "num_samples is 1, expected at most 0 = num_blocks 0 * index room 340");
  header.num_samples = 0;
  CHECK(parse_header(serialize_header(header), 16 * kMiB, "a").num_samples == 0);
}

TEST_CASE("parse_header: total_bytes is not trusted") {
  Header header = distinct();
  header.total_bytes = 1;
  CHECK(parse_header(serialize_header(header), kFileBytes, "a").total_bytes == 1);
}

TEST_CASE("Header: mean and std are those that pixels of 0 .. 1 may have") {
  Header header;
  header.set_normalization({0.0f, 0.5f, 1.0f}, {0.0f, 0.5f, 0.25f});
  CHECK(header.normalize_mean == std::array<float, 3>{0.0f, 0.5f, 1.0f});
  CHECK(header.normalize_std == std::array<float, 3>{0.0f, 0.5f, 0.25f});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float wrong : {-0.1f, 1.1f, nan}) {
    CHECK_THROWS_WITH_AS(header.set_normalization({0, wrong, 0}, {0, 0, 0}),
                         doctest::Contains("of channel 1, expected at most 1 and 0.5"),
                         InvalidArgument);
    CHECK_THROWS_AS(header.set_normalization({0, 0, 0}, {0, 0, wrong}), InvalidArgument);
  }
  CHECK(header.normalize_mean[1] == 0.5f);
}

}  // namespace
}  // namespace dts
