// SPDX-License-Identifier: Apache-2.0
#include "format/text.h"

#include <doctest/doctest.h>

#include "support.h"

namespace dts {
namespace {

TEST_CASE("hex32: eight digits") {
  CHECK(hex32(0) == "0x00000000");
  CHECK(hex32(0xbadcafe) == "0x0badcafe");
  CHECK(hex32(0xFFFFFFFF) == "0xffffffff");
}

TEST_CASE("in_quotes: always printable ASCII") {
  CHECK(in_quotes("LV0B") == "'LV0B'");
  CHECK(in_quotes("") == "''");
  CHECK(in_quotes(std::string("\0\x7f\xffz", 4)) == "'\\x00\\x7f\\xffz'");
  CHECK(in_quotes("a'\\b") == "'a\\x27\\x5cb'");
}

TEST_CASE("as_text: the same bytes") { CHECK(as_text(testing::bytes_of("abc")) == "abc"); }

}  // namespace
}  // namespace dts
