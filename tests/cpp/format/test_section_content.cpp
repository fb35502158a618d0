// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <zlib.h>

#include "base/crc32.h"
#include "format/sections.h"
#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::bytes_of;
using testing::check_corrupt;
using testing::noise;
using testing::patch;
using testing::TempDir;

Bytes deflated(const Bytes& raw, int level = 6) {
  uLongf size = ::compressBound(raw.size());
  Bytes stream(size);
  REQUIRE(::compress2(reinterpret_cast<Bytef*>(stream.data()), &size,
                      reinterpret_cast<const Bytef*>(raw.data()), raw.size(), level) == Z_OK);
  stream.resize(size);
  return stream;
}

struct Fixture {
  TempDir dir;
  std::string path = dir / "a";
  Section section;

  // Puts the content at 128 and describes it rightly.
  void store(const Bytes& stored, std::uint64_t raw_bytes, std::uint32_t flags) {
    patch(path, 128, stored);
    section = {"TEST", flags, 128, stored.size(), raw_bytes, crc32(0, stored)};
  }
  Bytes read() const { return read_section(InputFile(path), section); }
  void check(const std::string& message) const {
    check_corrupt([&] { read(); }, 128, "section 'TEST': " + message);
  }
};

TEST_CASE_FIXTURE(Fixture, "read_section: stored as it is") {
  store(bytes_of("content"), 7, 0);
  CHECK(read() == bytes_of("content"));
  store({}, 0, 0);
  CHECK(read().empty());
}

TEST_CASE_FIXTURE(Fixture, "read_section: inflated, in pieces of any kind") {
  for (const Bytes& raw : {Bytes{}, bytes_of("x"), Bytes(3'000'000), noise(3'000'000, 1)}) {
    for (const int level : {0, 1, 9}) {
      store(deflated(raw, level), raw.size(), kSectionZlib | kSectionRequired);
      CHECK(read() == raw);
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "read_section: a wrong CRC") {
  store(bytes_of("content"), 7, 0);
  section.crc = 1;
  check("CRC-32 is 0xfec530a9, expected 0x00000001");
  store(deflated(bytes_of("content")), 7, kSectionZlib);
  const std::uint32_t right = section.crc;
  section.crc = 2;
  char text[60];
  std::snprintf(text, sizeof(text), "CRC-32 is 0x%08x, expected 0x00000002", right);
  check(text);
}

TEST_CASE_FIXTURE(Fixture, "read_section: raw bytes that lie") {
  const Bytes raw = noise(2'500'000, 2);
  store(deflated(raw), raw.size(), kSectionZlib);
  section.raw_bytes = raw.size() - 1;
  check("its zlib stream gives more than the 2499999 raw bytes the table states");
  section.raw_bytes = 0;
  check("its zlib stream gives more than the 0 raw bytes the table states");
  section.raw_bytes = raw.size() + 1;
  check("its zlib stream gives 2500000 bytes, expected 2500001");
}

TEST_CASE_FIXTURE(Fixture, "read_section: a stream that is no stream") {
  store(bytes_of("not a zlib stream"), 17, kSectionZlib);
  check("its zlib stream is damaged (incorrect header check)");
  store({}, 0, kSectionZlib);
  check("its zlib stream has no end");
}

TEST_CASE_FIXTURE(Fixture, "read_section: a stream that wants a dictionary") {
  store(bytes_of(std::string("\x78\x20\0\0\0\1\3\0\0\0\0\1", 12)), 0, kSectionZlib);
  check("its zlib stream is damaged (unexpected preset dictionary)");
}

TEST_CASE_FIXTURE(Fixture, "read_section: a stream cut off anywhere") {
  const Bytes raw = noise(200, 3);
  const Bytes stream = deflated(raw);
  for (std::size_t size = 0; size < stream.size(); ++size) {
    store(Bytes(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(size)), raw.size(),
          kSectionZlib);
    check("its zlib stream has no end");
  }
}

TEST_CASE_FIXTURE(Fixture, "read_section: bytes behind the stream") {
  Bytes stream = deflated(bytes_of("content"));
  stream.push_back(std::byte{0});
  store(stream, 7, kSectionZlib);
  check("its zlib stream ends 1 bytes before the section does");
  stream.resize(stream.size() + 3'000'000);
  store(stream, 7, kSectionZlib);
  check("its zlib stream ends 3000001 bytes before the section does");
}

TEST_CASE_FIXTURE(Fixture, "read_section: cut off with the file") {
  store(bytes_of("content"), 7, 0);
  testing::set_size(path, 130);
  check_corrupt([&] { read(); }, 130,
                "the file ends at byte 130, but 7 bytes at offset 128 are expected");
}

}  // namespace
}  // namespace dts
