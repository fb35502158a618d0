// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <doctest/doctest.h>

#include "support.h"

namespace dts {
namespace {

TEST_CASE("store_le and load_le: little-endian, at any address") {
  testing::Bytes bytes(16);
  store_le(bytes.data() + 1, std::uint32_t{0x01020304});
  store_le(bytes.data() + 5, std::uint64_t{0x1122334455667788});
  CHECK(bytes[0] == std::byte{0});
  CHECK(bytes[1] == std::byte{4});
  CHECK(bytes[4] == std::byte{1});
  CHECK(bytes[5] == std::byte{0x88});
  CHECK(load_le<std::uint32_t>(bytes.data() + 1) == 0x01020304);
  CHECK(load_le<std::uint64_t>(bytes.data() + 5) == 0x1122334455667788);
  CHECK(load_le<std::uint16_t>(bytes.data() + 2) == 0x0203);
}

TEST_CASE("align_up: to the next multiple of 64") {
  CHECK(align_up(0) == 0);
  CHECK(align_up(1) == 64);
  CHECK(align_up(64) == 64);
  CHECK(align_up(65) == 128);
  CHECK(align_up((std::uint64_t{1} << 32) - 1) == std::uint64_t{1} << 32);
  CHECK(align_up(5, 4096) == 4096);
}

}  // namespace
}  // namespace dts
