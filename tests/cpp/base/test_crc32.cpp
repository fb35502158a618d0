// SPDX-License-Identifier: Apache-2.0
#include "base/crc32.h"

#include <doctest/doctest.h>

#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::noise;

// The definition, bit by bit.
std::uint32_t reference(ConstByteSpan data) {
  std::uint32_t state = 0xFFFFFFFF;
  for (const std::byte byte : data) {
    state ^= static_cast<std::uint32_t>(byte);
    for (int i = 0; i < 8; ++i) state = (state >> 1) ^ ((state & 1) != 0 ? 0xEDB88320 : 0);
  }
  return ~state;
}

TEST_CASE("crc32: known values") {
  CHECK(crc32(0, bytes_of("123456789")) == 0xCBF43926);
  CHECK(crc32(0, bytes_of("a")) == 0xE8B7BE43);
  CHECK(crc32(0, bytes_of("The quick brown fox jumps over the lazy dog")) == 0x414FA339);
  CHECK(crc32(0, Bytes(32)) == 0x190A55AD);
}

TEST_CASE("crc32: nothing leaves the value as it is, with and without a pointer") {
  CHECK(crc32(0, {}) == 0);
  CHECK(crc32(0x12345678, {}) == 0x12345678);
  const Bytes one(1);
  CHECK(crc32(0x12345678, ConstByteSpan(one).first(0)) == 0x12345678);
}

TEST_CASE("crc32: every length and alignment agrees with the definition") {
  const Bytes data = noise(600, 1);
  for (std::size_t start : {0, 1, 3, 7, 13}) {
    for (std::size_t size = 0; size + start <= data.size(); size += 1 + size / 40) {
      const auto part = ConstByteSpan(data).subspan(start, size);
      REQUIRE(crc32(0, part) == reference(part));
    }
  }
}

TEST_CASE("crc32: in pieces as in one") {
  const Bytes data = noise(200'000, 2);
  const std::uint32_t whole = reference(data);
  CHECK(crc32(0, data) == whole);
  for (std::size_t cut : {0, 1, 63, 64, 4096, 100'001, 200'000}) {
    const auto all = ConstByteSpan(data);
    CHECK(crc32(crc32(0, all.first(cut)), all.subspan(cut)) == whole);
    CHECK(crc32_combine(crc32(0, all.first(cut)), crc32(0, all.subspan(cut)), data.size() - cut) ==
          whole);
  }
}

TEST_CASE("crc32_combine: lengths beyond 32 bits") {
  // A + B + C joined in either order, B being 5 * 2^32 zeros and a tail.
  const std::uint32_t a = crc32(0, bytes_of("head"));
  const std::uint32_t c = crc32(0, bytes_of("tail"));
  const std::uint64_t length = (std::uint64_t{5} << 32) + 17;
  const std::uint32_t zeros = crc32_zeros(0, length);
  const std::uint32_t left = crc32_combine(crc32_combine(a, zeros, length), c, 4);
  const std::uint32_t right = crc32_combine(a, crc32_combine(zeros, c, 4), length + 4);
  CHECK(left == right);
  CHECK(crc32_zeros(a, length) == crc32_combine(a, zeros, length));
}

TEST_CASE("crc32_zeros: as many zero bytes") {
  const std::uint32_t start = crc32(0, bytes_of("block"));
  for (std::size_t count : {0, 1, 2, 63, 64, 65, 4096, 1'000'003}) {
    CHECK(crc32_zeros(start, count) == crc32(start, Bytes(count)));
    CHECK(crc32_zeros(0, count) == crc32(0, Bytes(count)));
  }
}

TEST_CASE("crc32_backend: one of the two libraries") {
  const std::string backend = crc32_backend();
#ifdef DTS_HAVE_LIBDEFLATE
  CHECK(backend == "libdeflate");
#else
  CHECK(backend == "zlib");
#endif
}

}  // namespace
}  // namespace dts
