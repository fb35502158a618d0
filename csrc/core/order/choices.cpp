// SPDX-License-Identifier: Apache-2.0
#include "order/choices.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/error.h"

namespace dts {
namespace {

constexpr std::uint32_t kChoiceMark = 0x80000000u;  // keeps these counters apart from shuffles'
constexpr std::uint32_t kNumAttempts = 10;
constexpr std::uint32_t kPythonOp = 32767;
constexpr std::uint32_t kPixelStreamDraw = 65535;
constexpr double kTwoPi = 6.283185307179586;

void check_size(std::int64_t width, std::int64_t height) {
  if (width < 1 || height < 1) {
    throw InvalidArgument("image of " + std::to_string(width) + "x" + std::to_string(height) +
                          " pixels, expected at least 1x1");
  }
}

double between(std::uint32_t r, double low, double high) {
  return low + uniform_from(r) * (high - low);
}

// Sides, not yet rounded to pixels, of a random area with a random aspect ratio.
struct Sides {
  double along;   // round(sqrt(area * a))
  double across;  // round(sqrt(area / a))
};

Sides random_sides(const Philox4& r, std::int64_t width, std::int64_t height, double scale_min,
                   double scale_max, double ratio_min, double ratio_max) {
  const double pixels = static_cast<double>(width * height);
  const double area = pixels * between(r[0], scale_min, scale_max);
  const double aspect = std::exp(between(r[1], std::log(ratio_min), std::log(ratio_max)));
  // nearbyint: half to even, as Python's round.
  return {std::nearbyint(std::sqrt(area * aspect)), std::nearbyint(std::sqrt(area / aspect))};
}

std::int64_t place_in(std::uint32_t r, std::int64_t outer, std::int64_t inner) {
  return below(r, static_cast<std::uint32_t>(outer - inner + 1));
}

std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
  return low | static_cast<std::uint64_t>(high) << 32;
}

// Box-Muller. 1 - u is in (0, 1], whose logarithm is finite.
void two_normals(std::uint32_t r0, std::uint32_t r1, float* out) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform_from(r0)));
  const double angle = kTwoPi * uniform_from(r1);
  out[0] = static_cast<float>(radius * std::cos(angle));
  out[1] = static_cast<float>(radius * std::sin(angle));
}

// torchvision's central crop after ten misses. It can round a side to 0 for ratios
// beyond the image; one pixel stays then.
Box central_crop(std::int64_t width, std::int64_t height, double ratio_min, double ratio_max) {
  const double in_ratio = static_cast<double>(width) / static_cast<double>(height);
  double w = static_cast<double>(width);
  double h = static_cast<double>(height);
  if (in_ratio < std::min(ratio_min, ratio_max)) {
    h = std::nearbyint(w / std::min(ratio_min, ratio_max));
  } else if (in_ratio > std::max(ratio_min, ratio_max)) {
    w = std::nearbyint(h * std::max(ratio_min, ratio_max));
  }
  const auto crop_width = std::clamp<std::int64_t>(static_cast<std::int64_t>(w), 1, width);
  const auto crop_height = std::clamp<std::int64_t>(static_cast<std::int64_t>(h), 1, height);
  return {(height - crop_height) / 2, (width - crop_width) / 2, crop_height, crop_width};
}

}  // namespace

Philox4 draw(const ChoiceKey& key, std::uint32_t number) {
  const auto index_high = static_cast<std::uint32_t>(key.index >> 32) & 0xFF;
  // The shift takes `occurrence` modulo 65536.
  return philox4x32(key.seed, {static_cast<std::uint32_t>(key.index),
                               index_high | key.view << 8 | key.occurrence << 16, key.epoch,
                               kChoiceMark | key.op << 16 | number});
}

bool choose_gate(const ChoiceKey& key, double probability) {
  return uniform_from(draw(key, 0)[0]) < probability;
}

Box choose_resized_crop(const ChoiceKey& key, std::int64_t width, std::int64_t height,
                        double scale_min, double scale_max, double ratio_min, double ratio_max) {
  check_size(width, height);
  for (std::uint32_t attempt = 0; attempt < kNumAttempts; ++attempt) {
    const Philox4 r = draw(key, attempt);
    const auto [w, h] = random_sides(r, width, height, scale_min, scale_max, ratio_min, ratio_max);
    // Compared before the conversion: no double beyond int64 is converted.
    if (0 < w && w <= static_cast<double>(width) && 0 < h && h <= static_cast<double>(height)) {
      const auto crop_width = static_cast<std::int64_t>(w);
      const auto crop_height = static_cast<std::int64_t>(h);
      return {place_in(r[2], height, crop_height), place_in(r[3], width, crop_width), crop_height,
              crop_width};
    }
  }
  return central_crop(width, height, ratio_min, ratio_max);
}

std::array<std::int64_t, 2> choose_crop(const ChoiceKey& key, std::int64_t width,
                                        std::int64_t height, std::int64_t crop_width,
                                        std::int64_t crop_height) {
  if (crop_width < 0 || crop_height < 0 || crop_width > width || crop_height > height) {
    throw InvalidArgument("crop of " + std::to_string(crop_width) + "x" +
                          std::to_string(crop_height) + " does not fit into the image of " +
                          std::to_string(width) + "x" + std::to_string(height) + " pixels");
  }
  const Philox4 r = draw(key, 0);
  return {place_in(r[0], height, crop_height), place_in(r[1], width, crop_width)};
}

Jitter choose_jitter(const ChoiceKey& key, const std::array<std::array<double, 2>, 4>& ranges) {
  Jitter jitter{{0, 1, 2, 3}, {}};
  const Philox4 r = draw(key, 0);
  for (std::uint32_t i = 3; i >= 1; --i) {
    std::swap(jitter.order[i], jitter.order[below(r[3 - i], i + 1)]);
  }
  const Philox4 f = draw(key, 1);
  for (std::size_t i = 0; i < 4; ++i) {
    jitter.factors[i] = between(f[i], ranges[i][0], ranges[i][1]);
  }
  return jitter;
}

std::optional<Box> choose_erasing(const ChoiceKey& key, std::int64_t width, std::int64_t height,
                                  double probability, double scale_min, double scale_max,
                                  double ratio_min, double ratio_max) {
  check_size(width, height);
  if (!choose_gate(key, probability)) return std::nullopt;
  for (std::uint32_t attempt = 1; attempt <= kNumAttempts; ++attempt) {
    const Philox4 r = draw(key, attempt);
    const auto [h, w] = random_sides(r, width, height, scale_min, scale_max, ratio_min, ratio_max);
    if (h < static_cast<double>(height) && w < static_cast<double>(width)) {
      const auto box_width = static_cast<std::int64_t>(w);
      const auto box_height = static_cast<std::int64_t>(h);
      return Box{place_in(r[2], height, box_height), place_in(r[3], width, box_width), box_height,
                 box_width};
    }
  }
  return std::nullopt;
}

double choose_between(const ChoiceKey& key, double low, double high) {
  return between(draw(key, 0)[0], low, high);
}

std::int64_t choose_python_seed(const ChoiceKey& key) {
  ChoiceKey python_key = key;
  python_key.op = kPythonOp;
  const Philox4 r = draw(python_key, 0);
  return static_cast<std::int64_t>(joined(r[0], r[1]) & ~(std::uint64_t{1} << 63));
}

NormalStream::NormalStream(const ChoiceKey& key) {
  const Philox4 r = draw(key, kPixelStreamDraw);
  seed_ = joined(r[0], r[1]);
}

std::array<float, 4> NormalStream::four(std::uint64_t k) const {
  const Philox4 r =
      philox4x32(seed_, {static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(k >> 32), 0, 0});
  std::array<float, 4> normals;
  two_normals(r[0], r[1], normals.data());
  two_normals(r[2], r[3], normals.data() + 2);
  return normals;
}

}  // namespace dts
