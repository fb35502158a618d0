// SPDX-License-Identifier: Apache-2.0
#include "base/philox.h"

#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support.h"

namespace dts {
namespace {

TEST_CASE("philox4x32: the known answers of its authors") {
  CHECK(philox4x32(0, {0, 0, 0, 0}) == Philox4{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox4x32(~std::uint64_t{0}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}) ==
        Philox4{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox4x32(0x299f31d0a4093822, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}) ==
        Philox4{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("philox4x32: the vectors of the format") {
  std::ifstream stream(testing::vector_path("philox.json"));
  const auto vectors = nlohmann::json::parse(stream);
  REQUIRE(vectors["generate_4x32"].size() == 24);
  for (const auto& vector : vectors["generate_4x32"]) {
    const auto seed = vector["seed"].get<std::uint64_t>();
    const auto offset = vector["offset"].get<std::uint64_t>();
    CAPTURE(seed);
    CAPTURE(offset);
    const Philox4 r = philox4x32(
        seed, {static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(offset >> 32), 0, 0});
    for (std::size_t i = 0; i < 4; ++i) CHECK(r[i] == vector["r"][i].get<std::uint32_t>());
    CHECK((std::uint64_t{r[0]} << 32 | r[1]) == vector["u64"].get<std::uint64_t>());
    CHECK(uniform_from(r[0]) == doctest::Approx(vector["uniform"].get<double>()).epsilon(1e-7));
  }
}

TEST_CASE("philox4x32: the permutations of the format") {
  std::ifstream stream(testing::vector_path("philox.json"));
  const auto vectors = nlohmann::json::parse(stream);
  REQUIRE(vectors["fisher_yates"].size() == 15);
  for (const auto& vector : vectors["fisher_yates"]) {
    const auto seed = vector["seed"].get<std::uint64_t>();
    const auto n = vector["n"].get<std::uint32_t>();
    std::vector<std::uint32_t> items(n);
    for (std::uint32_t i = 0; i < n; ++i) items[i] = i;
    for (std::uint32_t i = n - 1; i >= 1; --i) {
      std::swap(items[i], items[philox4x32(seed, {i, 0, 0, 0})[0] % (i + 1)]);
    }
    CHECK(items == vector["perm"].get<std::vector<std::uint32_t>>());
  }
}

TEST_CASE("uniform_from: a grid of 2^-24 in [0, 1)") {
  CHECK(uniform_from(0) == 0.0);
  CHECK(uniform_from(255) == 0.0);
  CHECK(uniform_from(256) == 0x1p-24);
  CHECK(uniform_from(0x80000000) == 0.5);
  CHECK(uniform_from(0xFFFFFFFF) == 1.0 - 0x1p-24);
}

TEST_CASE("below: the upper half of a 64-bit product") {
  CHECK(below(0, 10) == 0);
  CHECK(below(0xFFFFFFFF, 10) == 9);
  CHECK(below(0x80000000, 10) == 5);
  CHECK(below(0xFFFFFFFF, 0xFFFFFFFF) == 0xFFFFFFFE);
  CHECK(below(0xFFFFFFFF, 1) == 0);
}

}  // namespace
}  // namespace dts
