// SPDX-License-Identifier: Apache-2.0
#include "jpeg/libjpeg_session.h"

#include <string>

#include "jpeg/encoder.h"

namespace {

using dts::LibjpegSession;
using dts::testing::Bytes;
using dts::testing::encode;
using dts::testing::odd_image;

const Bytes& picture() {
  static const Bytes data = encode({}, 33, 21);
  return data;
}

}  // namespace

TEST_CASE("the header is read up to the coded data") {
  LibjpegSession session;
  REQUIRE(session.read_header(picture()));
  CHECK(session.codec().image_width == 33);
  CHECK(session.codec().image_height == 21);
  CHECK_FALSE(session.passed_end());
  // The scan's header ends with Ss, Se, AhAl of 0, 63, 0.
  const std::byte* coded = session.unread().data();
  CHECK(session.unread().data() + session.unread().size() == picture().data() + picture().size());
  CHECK(coded[-3] == std::byte{0});
  CHECK(coded[-2] == std::byte{63});
  CHECK(coded[-1] == std::byte{0});
}

TEST_CASE("libjpeg giving up comes back as false with its words") {
  LibjpegSession session;
  CHECK_FALSE(session.read_header(odd_image("names/really_text.jpg")));
  CHECK(std::string(session.message()) == "Not a JPEG file: starts with 0x34 0x30");
  CHECK_FALSE(session.passed_end());
  REQUIRE(session.read_header(picture()));
  CHECK(std::string(session.message()) == "");
  // Out of turn.
  CHECK_FALSE(
      session.guarded([](jpeg_decompress_struct& codec) { jpeg_finish_decompress(&codec); }));
  CHECK(std::string(session.message()).find("state") != std::string::npos);
  CHECK(session.guarded([](jpeg_decompress_struct& codec) { jpeg_abort_decompress(&codec); }));
}

TEST_CASE("data that ends too early is closed with an end marker") {
  LibjpegSession session;
  CHECK_FALSE(session.read_header({}));
  CHECK(session.passed_end());
  CHECK(session.unread().empty());
  // A segment that is longer than the file.
  const Bytes head = {std::byte{0xFF}, std::byte{0xD8}, std::byte{0xFF}, std::byte{0xFE},
                      std::byte{0xFF}, std::byte{0xFF}, std::byte{1},    std::byte{2}};
  CHECK_FALSE(session.read_header(head));
  CHECK(session.passed_end());
  CHECK(std::string(session.message()) == "JPEG datastream contains no image");

  // Half of the coded data: a picture all the same, with a warning counted.
  REQUIRE(session.read_header(dts::ConstByteSpan(picture()).first(picture().size() - 400)));
  std::vector<std::uint8_t> row(33 * 3);
  REQUIRE(session.guarded([&row](jpeg_decompress_struct& codec) {
    jpeg_start_decompress(&codec);
    JSAMPROW rows[1] = {row.data()};
    while (codec.output_scanline < codec.output_height) jpeg_read_scanlines(&codec, rows, 1);
    jpeg_finish_decompress(&codec);
  }));
  CHECK(session.passed_end());
  CHECK(session.codec().err->num_warnings > 0);
}

TEST_CASE("closing twice, and a session that read nothing, are fine") {
  LibjpegSession unused;
  LibjpegSession session;
  REQUIRE(session.read_header(picture()));
  session.close();
  session.close();
  REQUIRE(session.read_header(picture()));
  CHECK(session.codec().image_width == 33);
}
