// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "jpeg/codec_info.h"

TEST_CASE("the JPEG library names itself with its version") {
  const std::string name = dts::jpeg_library();
  CHECK(name.rfind("libjpeg-turbo ", 0) == 0);
  CHECK(name.find('.') != std::string::npos);
}
