// SPDX-License-Identifier: Apache-2.0
#include "jpeg/probe_file.h"

#include <doctest/doctest.h>

#include <vector>

#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::patch;
using testing::TempDir;

// SOI, `num_segments` APP1 segments of 60 000 bytes, then a frame header.
Bytes headers(int num_segments) {
  Bytes bytes{std::byte{0xFF}, std::byte{0xD8}};
  for (int i = 0; i < num_segments; ++i) {
    const std::size_t start = bytes.size();
    bytes.resize(start + 2 + 60'000);
    bytes[start] = std::byte{0xFF};
    bytes[start + 1] = std::byte{0xE1};
    bytes[start + 2] = std::byte{60'000 >> 8};
    bytes[start + 3] = std::byte{60'000 & 255};
  }
  for (const int value :
       {0xFF, 0xC0, 0, 17, 8, 0, 48, 0, 64, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1}) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  bytes.resize(bytes.size() + 1000);
  return bytes;
}

TEST_CASE("probe_file: a range of a file, however far its frame header lies") {
  const TempDir dir;
  std::vector<std::byte> buffer;
  for (const int num_segments : {0, 1, 5}) {
    const Bytes bytes = headers(num_segments);
    patch(dir / "x", 777, bytes);
    const InputFile file(dir / "x");
    const auto info = probe_file(file, 777, bytes.size(), buffer);
    REQUIRE(info);
    CHECK(info->width == 64);
    CHECK(info->height == 48);
    CHECK(info->num_components == 3);
    // The range ends before the frame header: nothing behind it is looked at.
    CHECK_FALSE(probe_file(file, 777, bytes.size() - 1010, buffer));
    CHECK_FALSE(probe_file(file, 776, bytes.size(), buffer));
    CHECK_FALSE(probe_file(file, 777, 0, buffer));
    CHECK_FALSE(probe_file(file, 10'000'000, 100, buffer));
  }
}

}  // namespace
}  // namespace dts
