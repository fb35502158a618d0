// SPDX-License-Identifier: Apache-2.0
#include "image/blur.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "base/error.h"

namespace dts {
namespace {

void check(const ImageView& image, std::int64_t kernel, double sigma, std::int64_t size,
           const char* axis) {
  if (kernel < 1 || kernel % 2 == 0) {
    throw InvalidArgument(std::string("the blur's kernel ") + axis +
                          " must be odd and at least 1, not " + std::to_string(kernel));
  }
  if (!(sigma > 0) || !std::isfinite(sigma)) {
    throw InvalidArgument(std::string("the blur's sigma of the ") + axis +
                          " must be a positive finite number, not " + std::to_string(sigma));
  }
  if (image.width > 0 && image.height > 0 && kernel / 2 >= size) {
    throw InvalidArgument(std::string("a blur with a kernel ") + axis + " of " +
                          std::to_string(kernel) + " needs an image " + axis + " of at least " +
                          std::to_string(kernel / 2 + 1) + ", not " + std::to_string(size));
  }
}

// Bell-shaped, sum 1.
void weights_of(std::int64_t kernel, double sigma, float* weights) {
  const auto half = static_cast<double>(kernel / 2);
  const auto value = [&](std::int64_t i) {
    const double distance = (static_cast<double>(i) - half) / sigma;
    return std::exp(-0.5 * distance * distance);
  };
  double sum = 0;
  for (std::int64_t i = 0; i < kernel; ++i) sum += value(i);
  for (std::int64_t i = 0; i < kernel; ++i) weights[i] = static_cast<float>(value(i) / sum);
}

// Mirrored at the border, whose pixel is not repeated.
std::int64_t reflected(std::int64_t at, std::int64_t size) {
  if (at < 0) return -at;
  return at < size ? at : 2 * (size - 1) - at;
}

// The bytes as floats with `half` reflected pixels on either side.
void widen_row(const std::uint8_t* row, std::int64_t width, std::int64_t channels,
               std::int64_t half, float* out) {
  for (std::int64_t x = -half; x < 0; ++x) {
    for (std::int64_t c = 0; c < channels; ++c) *out++ = row[reflected(x, width) * channels + c];
  }
  for (std::int64_t i = 0; i < width * channels; ++i) *out++ = row[i];
  for (std::int64_t x = width; x < width + half; ++x) {
    for (std::int64_t c = 0; c < channels; ++c) *out++ = row[reflected(x, width) * channels + c];
  }
}

}  // namespace

void gaussian_blur(const ImageView& image, std::array<std::int64_t, 2> kernel,
                   std::array<double, 2> sigma, Scratch& scratch) {
  check(image, kernel[0], sigma[0], image.width, "width");
  check(image, kernel[1], sigma[1], image.height, "height");
  if (image.width <= 0 || image.height <= 0) return;
  const std::int64_t half_x = kernel[0] / 2, half_y = kernel[1] / 2;
  const std::int64_t count = image.width * image.channels;
  const std::int64_t wide = count + 2 * half_x * image.channels;
  // Weights of both axes, one widened row, a sum, and as many blurred rows as the kernel is high.
  const std::int64_t num_floats = kernel[0] + kernel[1] + wide + count + kernel[1] * count;
  auto* weights_x =
      reinterpret_cast<float*>(scratch.get(static_cast<std::size_t>(num_floats) * sizeof(float)));
  float* const weights_y = weights_x + kernel[0];
  float* const widened = weights_y + kernel[1];
  float* const sums = widened + wide;
  float* const rows = sums + count;
  weights_of(kernel[0], sigma[0], weights_x);
  weights_of(kernel[1], sigma[1], weights_y);
  std::int64_t done = 0;  // rows of the image that are blurred along x
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (; done <= std::min(y + half_y, image.height - 1); ++done) {
      widen_row(image.row(done), image.width, image.channels, half_x, widened);
      float* const row = rows + done % kernel[1] * count;
      std::fill(row, row + count, 0.0F);
      for (std::int64_t k = 0; k < kernel[0]; ++k) {
        const float* const from = widened + k * image.channels;
        for (std::int64_t i = 0; i < count; ++i) row[i] += weights_x[k] * from[i];
      }
    }
    std::fill(sums, sums + count, 0.0F);
    for (std::int64_t k = 0; k < kernel[1]; ++k) {
      const std::int64_t source = reflected(y - half_y + k, image.height);
      const float* const row = rows + source % kernel[1] * count;
      for (std::int64_t i = 0; i < count; ++i) sums[i] += weights_y[k] * row[i];
    }
    std::uint8_t* const out = image.row(y);
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<std::uint8_t>(std::min(std::nearbyint(sums[i]), 255.0F));
    }
  }
}

}  // namespace dts
