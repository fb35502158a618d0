// SPDX-License-Identifier: Apache-2.0
// Small pictures for the tests of the image folder. Each lies in memory of exactly its
// size, so that the address sanitizer sees any byte read or written beside it.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "image/simd.h"
#include "image/view.h"

namespace dts::testing {

using Random = std::mt19937;

// In [low, high]. The standard's distributions differ between libraries.
inline std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
}

struct Picture {
  Picture(std::int64_t height, std::int64_t width, std::int64_t channels, std::int64_t padding = 0)
      : height(height), width(width), channels(channels), stride(width * channels + padding) {
    // Nothing behind the last row's pixels.
    bytes.assign(static_cast<std::size_t>(stride * (height - 1) + width * channels), kUnset);
  }
  static constexpr std::uint8_t kUnset = 0xA5;

  std::uint8_t* at(std::int64_t y, std::int64_t x) {
    return bytes.data() + y * stride + x * channels;
  }
  const std::uint8_t* at(std::int64_t y, std::int64_t x) const {
    return bytes.data() + y * stride + x * channels;
  }
  ImageView view() { return {bytes.data(), height, width, channels, stride}; }
  ConstImageView view() const { return {bytes.data(), height, width, channels, stride}; }
  // The pixels without what lies between rows.
  std::vector<std::uint8_t> pixels() const {
    std::vector<std::uint8_t> all;
    for (std::int64_t y = 0; y < height; ++y)
      all.insert(all.end(), at(y, 0), at(y, 0) + width * channels);
    return all;
  }
  // Whether the bytes between rows are as they were at the start.
  bool is_padding_untouched() const {
    for (std::int64_t y = 0; y + 1 < height; ++y) {
      for (std::int64_t i = width * channels; i < stride; ++i) {
        if (bytes[static_cast<std::size_t>(y * stride + i)] != kUnset) return false;
      }
    }
    return true;
  }

  std::int64_t height, width, channels, stride;
  std::vector<std::uint8_t> bytes;
};

// kind 0: any byte; 1: only 0 and 255, which overshoot most.
inline Picture random_picture(Random& random, std::int64_t height, std::int64_t width,
                              std::int64_t channels, int kind = 0, std::int64_t padding = 0) {
  Picture picture(height, width, channels, padding);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t i = 0; i < width * channels; ++i) {
      const auto value = static_cast<std::uint8_t>(random() >> 13);
      picture.at(y, 0)[i] = kind == 0 ? value : static_cast<std::uint8_t>(value < 128 ? 0 : 255);
    }
  }
  return picture;
}

// A pattern that is easily made elsewhere too.
inline Picture pattern_picture(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Picture picture(height, width, channels);
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      for (std::int64_t c = 0; c < channels; ++c) {
        picture.at(y, x)[c] = static_cast<std::uint8_t>(x * 37 + y * 59 + x * y * 11 + c * 85);
      }
    }
  }
  return picture;
}

// The box of a picture, copied.
inline Picture cut(const Picture& picture, const Box& box, std::int64_t padding = 0) {
  Picture out(box.height, box.width, picture.channels, padding);
  for (std::int64_t y = 0; y < box.height; ++y) {
    const std::uint8_t* from = picture.at(box.top + y, box.left);
    std::copy(from, from + box.width * picture.channels, out.at(y, 0));
  }
  return out;
}

// The levels that this CPU can run.
inline std::vector<SimdLevel> simd_levels() {
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : {SimdLevel::kGeneric, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= best_simd_level()) levels.push_back(level);
  }
  return levels;
}

// Says so once where a level's kernels can't run; the test then has nothing to check.
inline bool can_run(SimdLevel level) {
  if (level <= best_simd_level()) return true;
  MESSAGE("this CPU has no " << std::string(simd_level_name(level)));
  return false;
}

}  // namespace dts::testing
