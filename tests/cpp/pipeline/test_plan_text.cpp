// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan_text.h"

#include <clocale>

#include "support.h"

namespace {

using dts::InvalidArgument;
using dts::PlanLine;
using dts::testing::check_message;

}  // namespace

TEST_CASE("numbers are read as Python writes them") {
  CHECK(dts::parse_number("0").value() == 0.0);
  CHECK(dts::parse_number("-17").value() == -17.0);
  CHECK(dts::parse_number("+2.5e-3").value() == 0.0025);
  CHECK(dts::parse_number("0x1.999999999999ap-4").value() == 0.1);
  CHECK(dts::parse_number("-0x1.0000000000000p+1").value() == -2.0);
  CHECK(dts::parse_number("0x0.0p+0").value() == 0.0);
  CHECK(dts::parse_number("9007199254740992").value() == 9007199254740992.0);
}

TEST_CASE("what is no finite number is none") {
  for (const char* text : {"", "-", "+", "x", "0x", "--1", "+-1", "1 ", " 1", "1,2", "nan", "inf",
                           "-inf", "infinity", "1e999", "0x1p99999", "1.5.", "0x1.8q", "-0x-1"}) {
    CAPTURE(text);
    CHECK_FALSE(dts::parse_number(text).has_value());
  }
}

TEST_CASE("a locale with another decimal point changes nothing") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) std::setlocale(LC_NUMERIC, name);
  CHECK(dts::parse_number("0x1.8p+0").value() == 1.5);
  CHECK(dts::parse_number("1.5").value() == 1.5);
  std::setlocale(LC_NUMERIC, before.c_str());
}

TEST_CASE("a line is taken apart") {
  PlanLine line("resize  height=12 width=0x1.8p+2 list=1,2.5 ", 3);
  CHECK(line.name() == "resize");
  CHECK(line.integer("height", 1, 100) == 12);
  CHECK(line.integer("width", 1, 100) == 6);
  CHECK(line.has("list"));
  CHECK_FALSE(line.has("absent"));
  CHECK(line.reals("list", 2, {0.0, 3.0}) == std::vector<double>{1.0, 2.5});
  CHECK(line.integer_or("absent", 0, 5, -7) == -7);
  CHECK(line.per_channel("absent", 3, {0.0, 1.0}).empty());
  line.finish();
}

TEST_CASE("one value or one per channel") {
  PlanLine line("pad one=5 three=1,2,3", 1);
  CHECK(line.per_channel("one", 3, {0.0, 9.0}) == std::vector<double>{5.0});
  CHECK(line.per_channel("three", 3, {0.0, 9.0}) == std::vector<double>{1.0, 2.0, 3.0});
  check_message<InvalidArgument>(
      [&] { line.per_channel("three", 1, {0.0, 9.0}); },
      "plan, line 1 (pad): three is '1,2,3', expected 1 number, each 0 to 9");
  check_message<InvalidArgument>(
      [&] { line.per_channel("three", 3, {0.0, 2.5}, true); },
      "plan, line 1 (pad): three is '1,2,3', expected 1 or 3 numbers, each a whole number from 0 "
      "to 2.5");
}

TEST_CASE("errors name the line, the key, what was found and what was expected") {
  PlanLine line("resize height=12.5 scale=0,0.08 word=x open=", 7);
  check_message<InvalidArgument>(
      [&] { line.integer("height", 1, 65535); },
      "plan, line 7 (resize): height is '12.5', expected a whole number from 1 to 65535");
  check_message<InvalidArgument>([&] { line.real("height", {0.0, 1.0}); },
                                 "plan, line 7 (resize): height is '12.5', expected 0 to 1");
  check_message<InvalidArgument>(
      [&] { line.reals("scale", 2, {0.0, 1.0, true}); },
      "plan, line 7 (resize): scale is '0,0.08', expected 2 numbers, each above 0 and at most 1");
  check_message<InvalidArgument>([&] { line.real("scale", {0.0, 1.0}); },
                                 "plan, line 7 (resize): scale is '0,0.08', expected 0 to 1");
  check_message<InvalidArgument>([&] { line.real("word", {0.0, 1.0}); },
                                 "plan, line 7 (resize): word is 'x', expected 0 to 1");
  check_message<InvalidArgument>([&] { line.real("open", {0.0, 1.0}); },
                                 "plan, line 7 (resize): open is '', expected 0 to 1");
  check_message<InvalidArgument>([&] { line.integer("width", 1, 2); },
                                 "plan, line 7 (resize): found no width, expected width=...");
}

TEST_CASE("a line that is none is refused") {
  check_message<InvalidArgument>([] { PlanLine("resize height", 1); },
                                 "plan, line 1 (resize): found 'height', expected key=number");
  check_message<InvalidArgument>([] { PlanLine("resize =4", 1); },
                                 "plan, line 1 (resize): found '=4', expected key=number");
  check_message<InvalidArgument>(
      [] { PlanLine("resize a=1 a=1", 2); },
      "plan, line 2 (resize): the key 'a' stands there twice, expected once");
}

TEST_CASE("keys that nobody asked for are refused, with those that were asked for") {
  PlanLine line("flip op=1 q=2", 1);
  line.integer("op", 0, 9);
  line.has("p");
  check_message<InvalidArgument>([&] { line.finish(); },
                                 "plan, line 1 (flip): unknown key 'q', expected one of: op, p");
}

TEST_CASE("long and foreign text is cut and cleaned in messages") {
  const std::string text = "flip\x01\xFF p=" + std::string(500, '9') + "\n";
  PlanLine line(text, 1);
  const auto error = dts::testing::thrown<InvalidArgument>([&] { line.real("p", {0.0, 1.0}); });
  CHECK(std::string(error.what()) ==
        "plan, line 1 (flip?"
        "?): p is '" +
            std::string(60, '9') + "...', expected 0 to 1");
  std::string list = "pad v=1";
  for (int i = 0; i < 1000; ++i) list += ",1";
  PlanLine longer(list, 1);
  CHECK_THROWS_AS(longer.reals("v", 1001, {0.0, 1.0}), InvalidArgument);
}
