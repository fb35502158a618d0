// SPDX-License-Identifier: Apache-2.0
// Angles, sigmas, Python's seeds and normal numbers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "order/choices.h"
#include "order/vectors.h"

namespace {

using dts::ChoiceKey;

// Computed in Python from the description in docs/format.md.
struct Known {
  ChoiceKey key;
  double between;  // of -30 and 45
  std::int64_t python_seed;
  std::array<double, 8> normals;
};

const Known kKnown[] = {
    {{},
     34.95187282562256,
     1788538242849056979,
     {-1.0241418265551374, -0.10590224059892056, 0.42382054865601565, -0.2448882123400017,
      -0.1034153147240433, 2.3074302965575755, 0.2630903571179052, -0.0599830130287507}},
    {{.seed = 0x123456789ABCDEF0,
      .epoch = 5,
      .index = 0xAB00000005,
      .view = 3,
      .occurrence = 7,
      .op = 12},
     -19.825715124607086,
     7709248708029865972,
     {0.628686282027316, 0.23872196142932434, 0.30481299685760976, -1.3415376403583408,
      0.3904186741279892, 2.095164567720059, 0.6135908792001036, 1.4232932380579766}},
    {{.seed = ~std::uint64_t{0},
      .epoch = ~std::uint32_t{0},
      .index = 0xFFFFFFFFFF,
      .view = 255,
      .occurrence = 65535,
      .op = 32766},
     -6.295289397239685,
     4558393806825516034,
     {1.2215464193788537, 1.124111665874424, 0.3072257216928575, 0.18190664276898352,
      1.0282358241218506, -0.0038658518237631246, 0.46439981522595114, 0.03354141087837854}},
};

}  // namespace

TEST_CASE("choose_between, choose_python_seed and NormalStream give the known values") {
  for (const Known& known : kKnown) {
    CHECK(dts::choose_between(known.key, -30.0, 45.0) == known.between);
    CHECK(dts::choose_python_seed(known.key) == known.python_seed);
    const dts::NormalStream normals(known.key);
    for (std::uint64_t k = 0; k < 2; ++k) {
      const std::array<float, 4> four = normals.four(k);
      for (std::size_t i = 0; i < 4; ++i) {
        CHECK(std::abs(static_cast<double>(four[i]) - known.normals[4 * k + i]) < 1e-6);
      }
    }
  }
}

TEST_CASE("Python's seed is of the sample, not of an operation, and never negative") {
  for (std::uint64_t index = 0; index < 1000; ++index) {
    const std::int64_t seed = dts::choose_python_seed({.seed = 9, .index = index, .op = 4});
    CHECK(seed == dts::choose_python_seed({.seed = 9, .index = index, .op = 77}));
    CHECK(seed >= 0);
  }
  const std::int64_t seed = dts::choose_python_seed({.seed = 9, .index = 1});
  CHECK(seed != dts::choose_python_seed({.seed = 9, .index = 2}));
  CHECK(seed != dts::choose_python_seed({.seed = 9, .index = 1, .view = 1}));
  CHECK(seed != dts::choose_python_seed({.seed = 9, .index = 1, .occurrence = 1}));
  CHECK(seed != dts::choose_python_seed({.seed = 9, .epoch = 1, .index = 1}));
  CHECK(seed != dts::choose_python_seed({.seed = 8, .index = 1}));
}

TEST_CASE("choose_between stays in its range and fills it evenly") {
  std::array<int, 10> counts = {};
  for (std::uint64_t index = 0; index < 10000; ++index) {
    const double value = dts::choose_between({.index = index}, 2.0, 12.0);
    REQUIRE(value >= 2.0);
    REQUIRE(value < 12.0);
    ++counts[static_cast<std::size_t>(value - 2.0)];
  }
  // Standard deviation 30 around 1000.
  for (const int count : counts) CHECK(std::abs(count - 1000) < 135);
  CHECK(dts::choose_between({}, 3.5, 3.5) == 3.5);
}

TEST_CASE("normal numbers are normal: moments and Kolmogorov's distance") {
  constexpr std::uint64_t kNum = 100000;
  std::vector<double> values;
  const dts::NormalStream normals({.seed = 4, .op = 1});
  for (std::uint64_t k = 0; k < kNum / 4; ++k) {
    for (const float value : normals.four(k)) {
      REQUIRE(std::isfinite(value));
      values.push_back(static_cast<double>(value));
    }
  }
  double sum = 0.0, squares = 0.0, neighbours = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    squares += values[i] * values[i];
    if (i % 2 == 1) neighbours += values[i] * values[i - 1];
  }
  const double n = static_cast<double>(kNum);
  // Four standard deviations each.
  CHECK(std::abs(sum / n) < 4.0 / std::sqrt(n));
  CHECK(std::abs(squares / n - 1.0) < 4.0 * std::sqrt(2.0 / n));
  CHECK(std::abs(neighbours / (n / 2)) < 4.0 / std::sqrt(n / 2));
  std::ranges::sort(values);
  double distance = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = 0.5 * std::erfc(-values[i] / std::sqrt(2.0));
    distance = std::max(distance, std::abs(expected - (static_cast<double>(i) + 0.5) / n));
  }
  CHECK(distance < 1.95 / std::sqrt(n));  // exceeded once in a thousand times
}

TEST_CASE("each operation and sample has a stream of normal numbers of its own") {
  const auto first = [](const ChoiceKey& key) { return dts::NormalStream(key).four(0); };
  CHECK(first({.index = 1, .op = 1}) == first({.index = 1, .op = 1}));
  CHECK(first({.index = 1, .op = 1}) != first({.index = 1, .op = 2}));
  CHECK(first({.index = 1, .op = 1}) != first({.index = 2, .op = 1}));
  const dts::NormalStream normals({});
  CHECK(normals.four(0) != normals.four(1));
  CHECK(normals.four(1) != normals.four((std::uint64_t{1} << 32) + 1));
}
