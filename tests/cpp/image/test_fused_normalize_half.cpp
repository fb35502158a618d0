// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "image/half.h"

namespace dts {
namespace {

// What 16 bits of float16 stand for.
double float16_value(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10) & 31;
  const double fraction = bits & 1023;
  const double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double bfloat16_value(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }

// Each value gives its own bits; what lies between two gives the nearer, or the even one.
template <class Round, class Value>
void check_rounding(const Round& round, const Value& value_of, std::uint32_t infinity) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::uint32_t sign : {0u, 0x8000u}) {
    for (std::uint32_t bits = 0; bits + 1 < infinity; ++bits) {
      const double value = value_of(sign | bits), next = value_of(sign | (bits + 1));
      const double middle = (value + next) / 2;
      const auto half_way = static_cast<float>(middle);
      REQUIRE(round(static_cast<float>(value)) == (sign | bits));
      if (static_cast<double>(half_way) != middle) continue;  // below float32's last place
      REQUIRE(round(half_way) == (sign | (bits + (bits & 1))));
      const float towards = sign == 0 ? inf : -inf;
      REQUIRE(round(std::nextafter(half_way, towards)) == (sign | (bits + 1)));
      REQUIRE(round(std::nextafter(half_way, -towards)) == (sign | bits));
    }
    const float signed_inf = sign == 0 ? inf : -inf;
    REQUIRE(round(signed_inf) == (sign | infinity));
  }
}

TEST_CASE("half: float16 of every value, and between any two") {
  check_rounding(float16_bits, float16_value, 0x7C00);
  CHECK(float16_bits(65519.0f) == 0x7BFF);
  CHECK(float16_bits(65520.0f) == 0x7C00);
  CHECK(float16_bits(-1e30f) == 0xFC00);
  CHECK((float16_bits(std::nanf("")) & 0x7FFF) > 0x7C00);
}

TEST_CASE("half: bfloat16 of every value, and between any two") {
  check_rounding(bfloat16_bits, bfloat16_value, 0x7F80);
  CHECK(bfloat16_bits(std::numeric_limits<float>::max()) == 0x7F80);
  CHECK(bfloat16_bits(std::nanf("")) == 0x7FC0);
}

}  // namespace
}  // namespace dts
