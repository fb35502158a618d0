// SPDX-License-Identifier: Apache-2.0
// Random choices about one sample (docs/format.md section 5, "Choices about a sample"):
// pure functions of (seed, epoch, source index, view, occurrence, operation).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/box.h"
#include "base/philox.h"

namespace dts {

struct ChoiceKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint64_t index = 0;       // source index, below 2^40
  std::uint32_t view = 0;        // below 256
  std::uint32_t occurrence = 0;  // below 65536
  std::uint32_t op = 0;          // position among the random operations, below 32768
};

Philox4 draw(const ChoiceKey& key, std::uint32_t number);
bool choose_gate(const ChoiceKey& key, double probability);
Box choose_resized_crop(const ChoiceKey& key, std::int64_t width, std::int64_t height,
                        double scale_min, double scale_max, double ratio_min, double ratio_max);
// top, left of a crop; width and height are the image's after padding.
std::array<std::int64_t, 2> choose_crop(const ChoiceKey& key, std::int64_t width,
                                        std::int64_t height, std::int64_t crop_width,
                                        std::int64_t crop_height);

struct Jitter {
  std::array<int, 4> order;  // 0 brightness, 1 contrast, 2 saturation, 3 hue
  std::array<double, 4> factors;
};
Jitter choose_jitter(const ChoiceKey& key, const std::array<std::array<double, 2>, 4>& ranges);

std::optional<Box> choose_erasing(const ChoiceKey& key, std::int64_t width, std::int64_t height,
                                  double probability, double scale_min, double scale_max,
                                  double ratio_min, double ratio_max);

// An angle in degrees (RandomRotation), a sigma (GaussianBlur).
double choose_between(const ChoiceKey& key, double low, double high);

// Seeds Python code that does this sample; key.op does not matter. 63 bits, so that every
// generator takes it.
std::int64_t choose_python_seed(const ChoiceKey& key);

// Standard normal numbers of an operation that needs one per pixel: its own stream, the
// same from whichever place it is asked for.
class NormalStream {
 public:
  explicit NormalStream(const ChoiceKey& key);
  // The numbers at 4 * k to 4 * k + 3.
  std::array<float, 4> four(std::uint64_t k) const;

 private:
  std::uint64_t seed_;
};

}  // namespace dts
