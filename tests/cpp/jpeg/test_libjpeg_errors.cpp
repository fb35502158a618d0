// SPDX-License-Identifier: Apache-2.0
#include "jpeg/libjpeg_errors.h"

#include <doctest/doctest.h>
#include <jerror.h>

#include <string>

namespace {

// setjmp() and no object with a destructor in one frame.
bool gives_up(dts::LibjpegErrors* errors, jpeg_decompress_struct* codec) {
  if (setjmp(errors->exit_point) != 0) return true;
  ERREXIT1(codec, JERR_BAD_LENGTH, 7);
  return false;
}

}  // namespace

TEST_CASE("libjpeg's errors: counted, kept, and a jump back") {
  dts::LibjpegErrors errors;
  jpeg_decompress_struct codec{};
  codec.err = &errors.manager;
  WARNMS(&codec, JWRN_HIT_MARKER);
  TRACEMS(&codec, 1, JTRC_EOI);
  CHECK(errors.manager.num_warnings == 1);
  CHECK(gives_up(&errors, &codec));
  CHECK(errors.manager.msg_code == JERR_BAD_LENGTH);
  CHECK(std::string(errors.message) == "Bogus marker length");
  errors.reset();
  CHECK(errors.manager.num_warnings == 0);
  CHECK(errors.manager.msg_code == 0);
  CHECK(std::string(errors.message).empty());
}
