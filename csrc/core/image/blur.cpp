// SPDX-License-Identifier: Apache-2.0
#include "image/blur.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "image/blur_kernels.h"

namespace dts {
namespace {

void check(std::int64_t kernel, double sigma, std::int64_t size, const char* axis) {
  if (kernel < 1 || kernel % 2 == 0) {
    throw InvalidArgument(std::string("the blur's kernel ") + axis +
                          " must be odd and at least 1, not " + std::to_string(kernel));
  }
  if (!(sigma > 0) || !std::isfinite(sigma)) {
    throw InvalidArgument(std::string("the blur's sigma of the ") + axis +
                          " must be a positive finite number, not " + std::to_string(sigma));
  }
  if (size > 0 && kernel / 2 >= size) {
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
void widen_row(const BlurKernels& kernels, const std::uint8_t* row, std::int64_t width,
               std::int64_t channels, std::int64_t half, float* out) {
  float* const begin = out + half * channels;
  float* const end = begin + width * channels;
  kernels.widen(row, width * channels, begin);
  for (std::int64_t x = 1; x <= half; ++x) {
    std::copy_n(begin + x * channels, channels, begin - x * channels);
    std::copy_n(end - (x + 1) * channels, channels, end + (x - 1) * channels);
  }
}

// The pieces of a scratch.
struct Memory {
  Memory(const ImageView& image, const std::array<std::int64_t, 2>& kernel, Scratch& scratch) {
    const std::int64_t num_pointers = std::max(kernel[0], kernel[1]);
    const std::int64_t count = image.width * image.channels;
    const std::int64_t widened_count = count + (kernel[0] - 1) * image.channels;
    const std::int64_t num_floats = kernel[0] + kernel[1] + widened_count + kernel[1] * count;
    std::uint8_t* const memory =
        scratch.get(static_cast<std::size_t>(num_pointers) * sizeof(const float*) +
                    static_cast<std::size_t>(num_floats) * sizeof(float));
    pointers = reinterpret_cast<const float**>(memory);
    weights_x = reinterpret_cast<float*>(pointers + num_pointers);
    weights_y = weights_x + kernel[0];
    widened = weights_y + kernel[1];
    rows = widened + widened_count;
  }
  const float** pointers;  // the rows of a sum
  float* weights_x;
  float* weights_y;
  float* widened;  // a row of the image
  float* rows;     // as many rows blurred along x as the kernel is high, in turn
};

}  // namespace

void gaussian_blur(const ImageView& image, std::array<std::int64_t, 2> kernel,
                   std::array<double, 2> sigma, Scratch& scratch) {
  check(kernel[0], sigma[0], image.width, "width");
  check(kernel[1], sigma[1], image.height, "height");
  if (image.width <= 0 || image.height <= 0) return;
  const BlurKernels& kernels = blur_kernels(best_simd_level());
  const std::int64_t half_x = kernel[0] / 2, half_y = kernel[1] / 2;
  const std::int64_t count = image.width * image.channels;
  const Memory memory(image, kernel, scratch);
  weights_of(kernel[0], sigma[0], memory.weights_x);
  weights_of(kernel[1], sigma[1], memory.weights_y);
  const auto row_of = [&](std::int64_t y) { return memory.rows + y % kernel[1] * count; };
  std::int64_t done = 0;  // rows of the image that are blurred along x, before any is overwritten
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (; done <= std::min(y + half_y, image.height - 1); ++done) {
      widen_row(kernels, image.row(done), image.width, image.channels, half_x, memory.widened);
      for (std::int64_t k = 0; k < kernel[0]; ++k) {
        memory.pointers[k] = memory.widened + k * image.channels;
      }
      kernels.sum({memory.pointers, memory.weights_x, kernel[0], 0, count}, row_of(done));
    }
    for (std::int64_t k = 0; k < kernel[1]; ++k) {
      memory.pointers[k] = row_of(reflected(y - half_y + k, image.height));
    }
    kernels.sum_bytes({memory.pointers, memory.weights_y, kernel[1], 0, count}, image.row(y));
  }
}

}  // namespace dts
