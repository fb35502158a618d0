// SPDX-License-Identifier: Apache-2.0
#include "image/fused_normalize.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "image/half.h"
#include "image/pictures.h"
#include "support.h"

namespace dts {
namespace {

using testing::draw;
using testing::Picture;
using testing::Random;
using testing::random_picture;

// What torch's separate kernels give, step by step; volatile keeps the steps apart.
std::uint32_t expected_bits(const NormalizeParams& params, std::int64_t channel, int byte) {
  if (params.type == PixelType::kUint8) return static_cast<std::uint32_t>(byte);
  volatile float value = static_cast<float>(byte);
  const volatile float factor = 1.0f / 255.0f;
  if (params.scale) value = params.multiply ? value * factor : value / 255.0f;
  if (!params.mean.empty()) {
    value = value - params.mean[params.mean.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
    value = value / params.std[params.std.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
  if (params.type == PixelType::kFloat16) return float16_bits(value);
  if (params.type == PixelType::kBfloat16) return bfloat16_bits(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

// Value (y, x, c) of an output.
std::uint32_t bits_at(const NormalizeParams& params, const std::vector<std::uint8_t>& out,
                      std::int64_t height, std::int64_t width, std::int64_t y, std::int64_t x,
                      std::int64_t c) {
  const std::int64_t index = params.format == MemoryFormat::kChannelsFirst
                                 ? (c * height + y) * width + x
                                 : (y * width + x) * params.channels + c;
  const std::size_t size = pixel_bytes(params.type);
  std::uint32_t bits = 0;
  std::memcpy(&bits, out.data() + static_cast<std::size_t>(index) * size, size);
  return bits;
}

std::vector<std::uint8_t> run(const FusedNormalize& normalize, const Picture& image, bool flip) {
  std::vector<std::uint8_t> out(
      static_cast<std::size_t>(image.height * image.width * image.channels) *
      pixel_bytes(normalize.params().type));
  normalize.run(image.view(), flip, out.data());
  return out;
}

void check_image(const NormalizeParams& params, SimdLevel level, const Picture& image, bool flip) {
  const auto out = run(FusedNormalize(params, level), image, flip);
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; ++x) {
      const std::uint8_t* pixel = image.at(y, flip ? image.width - 1 - x : x);
      for (std::int64_t c = 0; c < image.channels; ++c) {
        REQUIRE(bits_at(params, out, image.height, image.width, y, x, c) ==
                expected_bits(params, c, pixel[c]));
      }
    }
  }
}

NormalizeParams random_params(Random& random) {
  NormalizeParams params;
  params.type = static_cast<PixelType>(draw(random, 0, 3));
  params.format = static_cast<MemoryFormat>(draw(random, 0, 1));
  params.channels = draw(random, 0, 2) == 0 ? 1 : 3;
  params.scale = draw(random, 0, 3) != 0;
  params.multiply = draw(random, 0, 2) == 0;
  if (params.type == PixelType::kUint8 || draw(random, 0, 4) == 0) return params;
  const std::int64_t count = draw(random, 0, 1) == 0 ? 1 : params.channels;
  for (std::int64_t i = 0; i < count; ++i) {
    params.mean.push_back(static_cast<float>(draw(random, -1000, 1000)) / 997.0f);
    params.std.push_back(static_cast<float>(draw(random, 1, 1000)) / 499.0f);
    if (draw(random, 0, 9) == 0) params.std.back() = -params.std.back();
  }
  return params;
}

// Where rows are whole lines of the cache, where they aren't, and where only the memory begins
// badly.
TEST_CASE("fused normalize: streamed values are the same, and nothing else is written") {
  Random random(52);
  const std::array<float, 3> mean = {0.5f, 0.4f, 0.3f}, deviation = {0.2f, 0.3f, 0.1f};
  for (const SimdLevel level : testing::simd_levels()) {
    for (int n = 0; n < 160; ++n) {
      NormalizeParams params;
      params.type = static_cast<PixelType>(n % 4);
      params.format = static_cast<MemoryFormat>(n / 4 % 2);
      params.channels = n / 8 % 4 == 0 ? 1 : 3;
      if (params.type != PixelType::kUint8) {
        params.mean.assign(mean.begin(), mean.begin() + params.channels);
        params.std.assign(deviation.begin(), deviation.begin() + params.channels);
      }
      const std::int64_t width = n % 3 == 0 ? draw(random, 1, 90) : 32 * draw(random, 1, 33);
      const Picture image = random_picture(random, draw(random, 1, 4), width, params.channels);
      const bool flip = draw(random, 0, 1) == 1;
      const FusedNormalize normalize(params, level);
      const auto expected = run(normalize, image, flip);
      std::vector<std::uint8_t> memory(expected.size() + 192, 0xA5);
      void* start = memory.data() + 64;
      std::size_t room = memory.size() - 64;
      std::uint8_t* out = static_cast<std::uint8_t*>(std::align(64, expected.size(), start, room)) +
                          (n % 5 == 0 ? draw(random, 1, 63) : 0);
      auto whole = memory;
      std::copy(expected.begin(), expected.end(), whole.begin() + (out - memory.data()));
      normalize.run(image.view(), flip, out, Stores::kStreamed);
      REQUIRE(memory == whole);
    }
  }
}

TEST_CASE("fused normalize: random cases equal torch's steps at every level") {
  Random random(51);
  for (int round = 0; round < 1500; ++round) {
    const NormalizeParams params = random_params(random);
    const std::int64_t width = draw(random, 1, round % 50 == 0 ? 1300 : 70);
    const Picture image =
        random_picture(random, draw(random, 1, 6), width, params.channels, 0, draw(random, 0, 5));
    const bool flip = draw(random, 0, 1) != 0;
    for (const SimdLevel level : testing::simd_levels()) check_image(params, level, image, flip);
  }
}

// Whose values go past the caches, where the place of the output allows it.
TEST_CASE("fused normalize: large images have the same values at every level") {
  Random random(52);
  NormalizeParams params;
  params.mean = {0.485f, 0.456f, 0.406f};
  params.std = {0.229f, 0.224f, 0.225f};
  for (const PixelType type : {PixelType::kFloat32, PixelType::kFloat16, PixelType::kBfloat16}) {
    for (const MemoryFormat format : {MemoryFormat::kChannelsFirst, MemoryFormat::kChannelsLast}) {
      params.type = type;
      params.format = format;
      const std::int64_t width = draw(random, 0, 1) == 0 ? 320 : 301;
      const Picture image = random_picture(random, 288, width, 3, 0, draw(random, 0, 3));
      const std::size_t bytes = static_cast<std::size_t>(288 * width * 3) * pixel_bytes(type);
      REQUIRE(bytes >= std::size_t{256} << 10);
      for (const bool flip : {false, true}) {
        const auto expected = run(FusedNormalize(params, SimdLevel::kGeneric), image, flip);
        for (const SimdLevel level : testing::simd_levels()) {
          for (const std::size_t offset : {std::size_t{0}, pixel_bytes(type)}) {
            std::vector<std::uint8_t> memory(bytes + 192, 0xA5);
            const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
            std::uint8_t* const out = memory.data() + (64 - past) + offset;
            FusedNormalize(params, level).run(image.view(), flip, out);
            CHECK(std::memcmp(out, expected.data(), bytes) == 0);
            CHECK(out[-1] == 0xA5);
            CHECK(out[bytes] == 0xA5);
          }
        }
      }
    }
  }
}

TEST_CASE("fused normalize: all bytes with the usual means and deviations") {
  Picture all(16, 16, 3);
  for (std::size_t i = 0; i < all.bytes.size(); ++i)
    all.bytes[i] = static_cast<std::uint8_t>(i / 3);
  NormalizeParams params;
  for (const auto& [mean, std] : {std::pair<std::vector<float>, std::vector<float>>{{}, {}},
                                  {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
                                  {{0.5f}, {0.5f}},
                                  {{0.4914f, 0.4822f, 0.4465f}, {0.247f, 0.2435f, 0.2616f}}}) {
    params.mean = mean;
    params.std = std;
    for (const SimdLevel level : testing::simd_levels()) check_image(params, level, all, false);
  }
}

// From torch 2.14 and torchvision 0.29.
TEST_CASE("fused normalize: known values") {
  NormalizeParams params;
  params.mean = {0.485f, 0.456f, 0.406f};
  params.std = {0.229f, 0.224f, 0.225f};
  Picture image(1, 1, 3);
  image.bytes = {0, 128, 255};
  const auto out = run(FusedNormalize(params), image, false);
  float values[3];
  std::memcpy(values, out.data(), sizeof(values));
  CHECK(values[0] == -0x1.0f177a0000000p+1f);
  CHECK(values[1] == 0x1.a436900000000p-3f);
  CHECK(values[2] == 0x1.51eb860000000p+1f);
}

// 1 / std overflows, so the formula of the vector kernels can't hold it; the table does.
TEST_CASE("fused normalize: deviations beyond the formula") {
  Random random(52);
  const Picture image = random_picture(random, 3, 41, 3);
  for (const float std : {1e-40f, 3e38f, -1e-39f}) {
    NormalizeParams params;
    params.mean = {0.3f};
    params.std = {std};
    for (const auto format : {MemoryFormat::kChannelsFirst, MemoryFormat::kChannelsLast}) {
      params.format = format;
      for (const SimdLevel level : testing::simd_levels()) check_image(params, level, image, true);
    }
  }
}

TEST_CASE("fused normalize: fill sets the box and nothing else") {
  Random random(53);
  for (int round = 0; round < 300; ++round) {
    const NormalizeParams params = random_params(random);
    const std::int64_t height = draw(random, 1, 9), width = draw(random, 1, 12);
    const Picture image = random_picture(random, height, width, params.channels);
    const FusedNormalize normalize(params);
    const auto before = run(normalize, image, false);
    const std::int64_t top = draw(random, 0, height), left = draw(random, 0, width);
    const Box box = {top, left, draw(random, 0, height - top), draw(random, 0, width - left)};
    std::vector<float> values;
    const std::int64_t count = draw(random, 0, 1) == 0 ? 1 : params.channels;
    for (std::int64_t i = 0; i < count; ++i) {
      values.push_back(static_cast<float>(draw(random, 0, 2559)) / 10.0f);
    }
    auto out = before;
    normalize.fill(box, height, width, values, out.data());
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        const bool is_inside =
            y >= top && y < top + box.height && x >= left && x < left + box.width;
        for (std::int64_t c = 0; c < params.channels; ++c) {
          const float value = values[values.size() == 1 ? 0 : static_cast<std::size_t>(c)];
          std::uint32_t expected = bits_at(params, before, height, width, y, x, c);
          if (is_inside && params.type == PixelType::kUint8)
            expected = static_cast<std::uint8_t>(value);
          if (is_inside && params.type == PixelType::kFloat16) expected = float16_bits(value);
          if (is_inside && params.type == PixelType::kBfloat16) expected = bfloat16_bits(value);
          if (is_inside && params.type == PixelType::kFloat32) {
            expected = std::bit_cast<std::uint32_t>(value);
          }
          REQUIRE(bits_at(params, out, height, width, y, x, c) == expected);
        }
      }
    }
  }
}

TEST_CASE("fused normalize: sizes of types") {
  CHECK(pixel_bytes(PixelType::kUint8) == 1);
  CHECK(pixel_bytes(PixelType::kFloat32) == 4);
  CHECK(pixel_bytes(PixelType::kFloat16) == 2);
  CHECK(pixel_bytes(PixelType::kBfloat16) == 2);
}

TEST_CASE("fused normalize: wrong parameters are errors that say so") {
  const auto make = [](const auto& change) {
    return [change] {
      NormalizeParams params;
      change(params);
      FusedNormalize normalize(params);
    };
  };
  using P = NormalizeParams;
  testing::check_message<InvalidArgument>(make([](P& p) { p.channels = 4; }),
                                          "normalize: channels is 4, expected 1 or 3");
  testing::check_message<InvalidArgument>(
      make([](P& p) { p.mean = {0.5f}; }),
      "normalize: mean has 1 values, std 0; give both or neither");
  testing::check_message<InvalidArgument>(make([](P& p) { p.mean = {0.5f, 0.5f}, p.std = {1.0f}; }),
                                          "normalize: mean has 2 values, expected 1 or 3");
  testing::check_message<InvalidArgument>(
      make([](P& p) { p.mean = {0.5f}, p.std = {1.0f, 1.0f, 1.0f}, p.channels = 1; }),
      "normalize: std has 3 values, expected 1 or 1");
  testing::check_message<InvalidArgument>(make([](P& p) { p.mean = {0.5f}, p.std = {-0.0f}; }),
                                          "normalize: std holds 0, which would divide by zero");
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::nanf("")}) {
    const std::string found = " holds " + std::to_string(bad) + ", expected finite values";
    testing::check_message<InvalidArgument>(make([bad](P& p) { p.mean = {0.5f}, p.std = {bad}; }),
                                            "normalize: std" + found);
    testing::check_message<InvalidArgument>(
        make([bad](P& p) { p.mean = {0.5f, bad, 0.5f}, p.std = {1.0f}; }),
        "normalize: mean" + found);
  }
  testing::check_message<InvalidArgument>(
      make([](P& p) { p.mean = {0.5f}, p.std = {1.0f}, p.type = PixelType::kUint8; }),
      "normalize: uint8 output can't be normalized; choose a float type");
}

TEST_CASE("fused normalize: wrong images, boxes and fill values are errors that say so") {
  NormalizeParams params;
  const FusedNormalize normalize(params);
  params.type = PixelType::kUint8;
  const FusedNormalize bytes(params);
  std::vector<std::uint8_t> out(1000);
  const auto fill = [&](const FusedNormalize& with, const Box& box, std::vector<float> values) {
    return [&with, &out, box, values] { with.fill(box, 5, 6, values, out.data()); };
  };
  testing::check_message<InvalidArgument>(
      [&] { normalize.run(Picture(2, 2, 1).view(), false, out.data()); },
      "normalize: the image has 1 channels, expected 3");
  testing::check_message<InvalidArgument>(
      fill(normalize, {1, 2, 4, 5}, {0.0f}),
      "fill: the box 5x4 at (2, 1) is not inside of the image 6x5");
  testing::check_message<InvalidArgument>(fill(normalize, {0, 0, 1, 1}, {0.0f, 1.0f}),
                                          "fill: 2 values, expected 1 or 3");
  testing::check_message<InvalidArgument>(fill(normalize, {0, 0, 1, 1}, {}),
                                          "fill: 0 values, expected 1 or 3");
  testing::check_message<InvalidArgument>(
      fill(bytes, {0, 0, 1, 1}, {256.0f}),
      "fill: the value 256.000000 is not in uint8's range 0..255");
  CHECK_THROWS_AS(fill(bytes, {0, 0, 1, 1}, {-0.5f})(), InvalidArgument);
  CHECK_THROWS_AS(fill(bytes, {-1, 0, 1, 1}, {1.0f})(), InvalidArgument);
}

}  // namespace
}  // namespace dts
