// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_erasing.h"

#include <cstring>

#include "image/half.h"
#include "image/pictures.h"

namespace {

using dts::Box;
using dts::ChoiceKey;
using dts::Erasing;
using dts::FusedNormalize;
using dts::MemoryFormat;
using dts::NormalizeParams;
using dts::PixelType;

constexpr std::int64_t kHeight = 12, kWidth = 15;

Erasing erasing_of(double p) {
  Erasing erasing;
  erasing.op = 3;
  erasing.p = p;
  erasing.scale = {0.02, 0.33};
  erasing.ratio = {0.3, 3.3};
  return erasing;
}

Box box_of(const Erasing& erasing, const ChoiceKey& key) {
  const auto box = dts::choose_erasing(key, kWidth, kHeight, erasing.p, erasing.scale[0],
                                       erasing.scale[1], erasing.ratio[0], erasing.ratio[1]);
  REQUIRE(box.has_value());
  return *box;
}

bool is_in(const Box& box, std::int64_t y, std::int64_t x) {
  return y >= box.top && y < box.top + box.height && x >= box.left && x < box.left + box.width;
}

NormalizeParams params_of(PixelType type, MemoryFormat format, std::int64_t channels) {
  NormalizeParams params;
  params.type = type;
  params.format = format;
  params.channels = channels;
  return params;
}

// The bits of a normal number in the output's type.
template <class Value>
Value expected_bits(float value, PixelType type) {
  if constexpr (sizeof(Value) == 4) return std::bit_cast<std::uint32_t>(value);
  return type == PixelType::kFloat16 ? static_cast<Value>(dts::float16_bits(value))
                                     : static_cast<Value>(dts::bfloat16_bits(value));
}

template <class Value>
void check_normals(PixelType type, MemoryFormat format, std::int64_t channels) {
  Erasing erasing = erasing_of(1.0);
  erasing.random_values = true;
  const FusedNormalize normalize(params_of(type, format, channels));
  for (std::uint64_t index = 0; index < 20; ++index) {
    const ChoiceKey key = {.seed = 5, .index = index, .op = erasing.op};
    std::vector<Value> out(static_cast<std::size_t>(kHeight * kWidth * channels), Value{0x77});
    dts::erase_randomly(erasing, normalize, key, kHeight, kWidth, out.data());
    const Box box = box_of(erasing, key);
    const dts::NormalStream normals(key);
    std::uint64_t number = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t y = 0; y < kHeight; ++y) {
        for (std::int64_t x = 0; x < kWidth; ++x) {
          const std::int64_t at = format == MemoryFormat::kChannelsFirst
                                      ? (c * kHeight + y) * kWidth + x
                                      : (y * kWidth + x) * channels + c;
          const Value found = out[static_cast<std::size_t>(at)];
          if (!is_in(box, y, x)) {
            REQUIRE(found == Value{0x77});
            continue;
          }
          const float normal = normals.four(number / 4)[number % 4];
          ++number;
          REQUIRE(found == expected_bits<Value>(normal, type));
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("normals go into the box in CHW order, whatever the layout and the type") {
  for (const auto format : {MemoryFormat::kChannelsFirst, MemoryFormat::kChannelsLast}) {
    for (const std::int64_t channels : {1, 3}) {
      check_normals<std::uint32_t>(PixelType::kFloat32, format, channels);
      check_normals<std::uint16_t>(PixelType::kFloat16, format, channels);
      check_normals<std::uint16_t>(PixelType::kBfloat16, format, channels);
    }
  }
}

TEST_CASE("values fill the box") {
  Erasing erasing = erasing_of(1.0);
  erasing.values = {1.5f, -2.0f, 0.25f};
  const FusedNormalize normalize(params_of(PixelType::kFloat32, MemoryFormat::kChannelsFirst, 3));
  const ChoiceKey key = {.seed = 5, .op = erasing.op};
  std::vector<float> out(kHeight * kWidth * 3, 9.0f);
  dts::erase_randomly(erasing, normalize, key, kHeight, kWidth, out.data());
  const Box box = box_of(erasing, key);
  for (std::int64_t i = 0; i < kHeight * kWidth * 3; ++i) {
    const std::int64_t c = i / (kHeight * kWidth), y = i / kWidth % kHeight, x = i % kWidth;
    const float expected = is_in(box, y, x) ? erasing.values[static_cast<std::size_t>(c)] : 9.0f;
    REQUIRE(out[static_cast<std::size_t>(i)] == expected);
  }
}

TEST_CASE("what the gate holds back is not touched") {
  Erasing erasing = erasing_of(0.0);
  erasing.values = {1.0f};
  const FusedNormalize normalize(params_of(PixelType::kFloat32, MemoryFormat::kChannelsFirst, 1));
  std::vector<float> out(kHeight * kWidth, 9.0f);
  dts::erase_randomly(erasing, normalize, {}, kHeight, kWidth, out.data());
  CHECK(out == std::vector<float>(kHeight * kWidth, 9.0f));
}

TEST_CASE("bytes are filled with bytes") {
  Erasing erasing = erasing_of(1.0);
  erasing.values = {200.0f};
  NormalizeParams params = params_of(PixelType::kUint8, MemoryFormat::kChannelsLast, 3);
  const FusedNormalize normalize(params);
  std::vector<std::uint8_t> out(kHeight * kWidth * 3, 9);
  const ChoiceKey key = {.seed = 6, .op = erasing.op};
  dts::erase_randomly(erasing, normalize, key, kHeight, kWidth, out.data());
  const Box box = box_of(erasing, key);
  CHECK(std::count(out.begin(), out.end(), 200) == 3 * box.height * box.width);
}
