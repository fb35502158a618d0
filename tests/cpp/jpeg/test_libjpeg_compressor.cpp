// SPDX-License-Identifier: Apache-2.0
#include "jpeg/libjpeg_compressor.h"

#include <cstring>
#include <string>

#include "jpeg/encoder.h"

namespace {

using dts::LibjpegCompressor;
using dts::testing::Bytes;

constexpr JDIMENSION kWidth = 200, kHeight = 160;

// Gray noise, which hardly compresses.
bool write_noise(LibjpegCompressor& session, std::size_t expected_bytes) {
  return session.begin(expected_bytes) && session.guarded([](jpeg_compress_struct& codec) {
    codec.image_width = kWidth;
    codec.image_height = kHeight;
    codec.input_components = 1;
    codec.in_color_space = JCS_GRAYSCALE;
    jpeg_set_defaults(&codec);
    jpeg_set_quality(&codec, 95, TRUE);
    jpeg_start_compress(&codec, TRUE);
    std::uint64_t state = 5;
    while (codec.next_scanline < kHeight) {
      JSAMPLE row[kWidth];
      for (JSAMPLE& value : row) {
        value = static_cast<JSAMPLE>(dts::testing::next_random(state, 256));
      }
      JSAMPROW rows[1] = {row};
      jpeg_write_scanlines(&codec, rows, 1);
    }
    jpeg_finish_compress(&codec);
  });
}

Bytes copy_of(const LibjpegCompressor& session) {
  return {session.written().begin(), session.written().end()};
}

}  // namespace

TEST_CASE("a picture is written whether or not its size was guessed") {
  LibjpegCompressor guessed, grown;
  REQUIRE(write_noise(guessed, 1 << 20));
  REQUIRE(write_noise(grown, 0));
  CHECK(guessed.held_bytes() == 1 << 20);
  CHECK(grown.held_bytes() > 20000);
  CHECK(grown.written().size() > 20000);
  CHECK(copy_of(guessed) == copy_of(grown));
  CHECK(guessed.num_warnings() == 0);
  const dts::testing::Decoded whole = dts::testing::decode_whole(copy_of(grown), true);
  CHECK(whole.width == kWidth);
  CHECK(whole.height == kHeight);
}

TEST_CASE("memory is kept for the next picture and given back when asked") {
  LibjpegCompressor session;
  CHECK(session.written().empty());
  REQUIRE(write_noise(session, 100));
  const Bytes first = copy_of(session);
  const std::size_t held = session.held_bytes();
  const std::byte* const memory = session.written().data();
  session.close();
  CHECK(copy_of(session) == first);
  REQUIRE(write_noise(session, 100));
  CHECK(session.held_bytes() == held);
  CHECK(session.written().data() == memory);
  CHECK(copy_of(session) == first);
  session.shrink(held);
  CHECK(session.held_bytes() == held);
  session.shrink(held - 1);
  CHECK(session.held_bytes() == 0);
  CHECK(session.written().empty());
  REQUIRE(write_noise(session, 100));
  CHECK(copy_of(session) == first);
}

TEST_CASE("libjpeg giving up comes back as false with its words") {
  LibjpegCompressor session;
  REQUIRE(session.begin(0));
  CHECK_FALSE(session.guarded([](jpeg_compress_struct& codec) {
    jpeg_start_compress(&codec, TRUE);  // of no picture
  }));
  CHECK(std::string(session.message()) != "");
  CHECK(session.error_code() != 0);
  session.close();
  session.close();
  REQUIRE(write_noise(session, 0));
  CHECK(std::string(session.message()) == "");
}

TEST_CASE("giving up in the middle of a picture leaves nothing behind") {
  LibjpegCompressor session;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(session.begin(0));
    CHECK_FALSE(session.guarded([](jpeg_compress_struct& codec) {
      codec.image_width = kWidth;
      codec.image_height = kHeight;
      codec.input_components = 1;
      codec.in_color_space = JCS_GRAYSCALE;
      jpeg_set_defaults(&codec);
      jpeg_start_compress(&codec, TRUE);
      jpeg_finish_compress(&codec);  // before its rows came
    }));
  }
}
