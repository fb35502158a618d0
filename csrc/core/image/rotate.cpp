// SPDX-License-Identifier: Apache-2.0
#include "image/rotate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include "base/error.h"
#include "image/rotate_kernels.h"

namespace dts {
namespace {

// `value` in [-1, 1] to 15 decimals, halves of the exact value to even, as Python's round
// does. 10^15 and the whole number before it are exact in double, so the quotient is the
// double next to the decimal number.
double round_15(double value) {
  constexpr double kUnits = 1e15;
  const double scaled = value * kUnits;
  const double lost = std::fma(value, kUnits, -scaled);
  double whole = std::floor(scaled);
  const double above = (scaled - whole - 0.5) + lost;  // both parts are exact, so its sign is
  if (above > 0 || (above == 0 && std::fmod(whole, 2.0) != 0)) whole += 1;
  return whole / kUnits;
}

Affine inverse_rotation(double degrees, double center_x, double center_y) {
  const double angle = -(degrees * (std::numbers::pi / 180.0));
  Affine affine;
  affine.xx = round_15(std::cos(angle));
  affine.xy = round_15(std::sin(angle));
  affine.yx = round_15(-std::sin(angle));
  affine.yy = round_15(std::cos(angle));
  affine.x0 = affine.xx * -center_x + affine.xy * -center_y + 0.0 + center_x;
  affine.y0 = affine.yx * -center_x + affine.yy * -center_y + 0.0 + center_y;
  return affine;
}

// Python's angle % 360.
double normalized(double degrees) {
  double rest = std::fmod(degrees, 360.0);
  if (rest < 0) rest += 360.0;
  return rest + 0.0;
}

template <int kChannels>
void copy_pixel(const std::uint8_t* from, std::uint8_t* to) {
  for (int c = 0; c < kChannels; ++c) to[c] = from[c];
}

// Turned by 0, 90, 180 or 270 degrees: pixel (x, y) of `out` is found at `start` + x * step_x +
// y * step_y.
template <int kChannels>
void turn(const ConstImageView& image, int quarters, const ImageView& out) {
  const std::int64_t right = (image.width - 1) * kChannels;
  const std::int64_t down = (image.height - 1) * image.stride;
  const std::int64_t starts[4] = {0, right, right + down, down};
  const std::int64_t steps_x[4] = {kChannels, image.stride, -kChannels, -image.stride};
  const std::int64_t steps_y[4] = {image.stride, -kChannels, -image.stride, kChannels};
  const std::int64_t step = steps_x[quarters];
  for (std::int64_t y = 0; y < out.height; ++y) {
    const std::uint8_t* from = image.data + starts[quarters] + y * steps_y[quarters];
    std::uint8_t* to = out.row(y);
    for (std::int64_t x = 0; x < out.width; ++x, from += step, to += kChannels) {
      copy_pixel<kChannels>(from, to);
    }
  }
}

// The pixel that a coordinate lies in, -1 outside of the image.
std::int64_t pixel_of(double at, std::int64_t size) {
  return at >= 0 && at < static_cast<double>(size) ? static_cast<std::int64_t>(at) : -1;
}

// A matrix without rotation (a half turn about some centre): both axes on their own.
template <int kChannels>
void scale_nearest(const ConstImageView& image, const Affine& affine, const ImageView& out) {
  double y_at = affine.y0 + affine.yy * 0.5;
  for (std::int64_t y = 0; y < out.height; ++y, y_at += affine.yy) {
    const std::int64_t from_y = pixel_of(y_at, image.height);
    if (from_y < 0) continue;
    double x_at = affine.x0 + affine.xx * 0.5;
    std::uint8_t* to = out.row(y);
    for (std::int64_t x = 0; x < out.width; ++x, x_at += affine.xx, to += kChannels) {
      const std::int64_t from_x = pixel_of(x_at, image.width);
      if (from_x >= 0) copy_pixel<kChannels>(image.row(from_y) + from_x * kChannels, to);
    }
  }
}

std::int64_t fixed(double value) {
  return static_cast<std::int64_t>(std::floor(value * 65536.0 + 0.5));
}

// Coordinates with 16 bits behind the point, each the one before plus a step.
template <int kChannels>
void nearest_fixed(const ConstImageView& image, const Affine& affine, const ImageView& out) {
  const std::int64_t step_x = fixed(affine.xx), step_y = fixed(affine.yx);
  std::int64_t row_x = fixed(affine.x0 + affine.xx * 0.5 + affine.xy * 0.5);
  std::int64_t row_y = fixed(affine.y0 + affine.yx * 0.5 + affine.yy * 0.5);
  for (std::int64_t y = 0; y < out.height; ++y) {
    std::int64_t at_x = row_x, at_y = row_y;
    std::uint8_t* to = out.row(y);
    for (std::int64_t x = 0; x < out.width; ++x, to += kChannels) {
      const std::int64_t from_x = at_x >> 16, from_y = at_y >> 16;
      if (from_x >= 0 && from_x < image.width && from_y >= 0 && from_y < image.height) {
        copy_pixel<kChannels>(image.row(from_y) + from_x * kChannels, to);
      }
      at_x += step_x;
      at_y += step_y;
    }
    row_x += fixed(affine.xy);
    row_y += fixed(affine.yy);
  }
}

// The same in double, for images too large for 16 bits before the point.
template <int kChannels>
void nearest_double(const ConstImageView& image, const Affine& affine, const ImageView& out) {
  double row_x = affine.x0 + affine.xy * 0.5 + affine.xx * 0.5;
  double row_y = affine.y0 + affine.yy * 0.5 + affine.yx * 0.5;
  for (std::int64_t y = 0; y < out.height; ++y) {
    double at_x = row_x, at_y = row_y;
    std::uint8_t* to = out.row(y);
    for (std::int64_t x = 0; x < out.width; ++x, to += kChannels) {
      const std::int64_t from_x = pixel_of(at_x, image.width);
      const std::int64_t from_y = pixel_of(at_y, image.height);
      if (from_x >= 0 && from_y >= 0) {
        copy_pixel<kChannels>(image.row(from_y) + from_x * kChannels, to);
      }
      at_x += affine.xx;
      at_y += affine.yx;
    }
    row_x += affine.xy;
    row_y += affine.yy;
  }
}

bool fits_fixed(const Affine& affine, const ImageView& out) {
  const auto fits = [&](double x, double y) {
    return std::fabs(x * affine.xx + y * affine.xy + affine.x0) < 32768.0 &&
           std::fabs(x * affine.yx + y * affine.yy + affine.y0) < 32768.0;
  };
  const auto width = static_cast<double>(out.width), height = static_cast<double>(out.height);
  return fits(0, 0) && fits(width, height) && fits(0, height) && fits(width, 0);
}

template <int kChannels>
void bilinear(const ConstImageView& image, const Affine& affine, const ImageView& out) {
  const RotateKernels& kernels = rotate_kernels(best_simd_level());
  const auto row = kChannels == 3 ? kernels.bilinear_rgb : kernels.bilinear_gray;
  for (std::int64_t y = 0; y < out.height; ++y) row(image, affine, y, out);
}

void fill_with(std::span<const std::uint8_t> fill, const ImageView& out) {
  for (std::int64_t y = 0; y < out.height; ++y) {
    std::uint8_t* to = out.row(y);
    if (fill.size() <= 1) {
      std::memset(to, fill.empty() ? 0 : fill[0],
                  static_cast<std::size_t>(out.width * out.channels));
      continue;
    }
    for (std::int64_t x = 0; x < out.width; ++x) to = std::copy(fill.begin(), fill.end(), to);
  }
}

template <int kChannels>
void rotate(const ConstImageView& image, double degrees, Filter filter,
            const std::optional<std::array<double, 2>>& maybe_center,
            std::span<const std::uint8_t> fill, const ImageView& out) {
  const double angle = normalized(degrees);
  if (!maybe_center) {
    const bool is_square = image.width == image.height;
    if (angle == 0) return turn<kChannels>(image, 0, out);
    if (angle == 90 && is_square) return turn<kChannels>(image, 1, out);
    if (angle == 180) return turn<kChannels>(image, 2, out);
    if (angle == 270 && is_square) return turn<kChannels>(image, 3, out);
  }
  const std::array<double, 2> center = maybe_center.value_or(std::array<double, 2>{
      static_cast<double>(image.width) / 2, static_cast<double>(image.height) / 2});
  const Affine affine = inverse_rotation(angle, center[0], center[1]);
  fill_with(fill, out);
  if (filter == Filter::kBilinear) return bilinear<kChannels>(image, affine, out);
  if (affine.xy == 0 && affine.yx == 0) return scale_nearest<kChannels>(image, affine, out);
  if (fits_fixed(affine, out)) return nearest_fixed<kChannels>(image, affine, out);
  nearest_double<kChannels>(image, affine, out);
}

}  // namespace

void rotate_image(const ConstImageView& image, double degrees, Filter filter,
                  std::optional<std::array<double, 2>> maybe_center,
                  std::span<const std::uint8_t> fill, const ImageView& out) {
  if (filter != Filter::kNearest && filter != Filter::kBilinear) {
    throw InvalidArgument("rotation knows the filters nearest and bilinear, not number " +
                          std::to_string(static_cast<int>(filter)));
  }
  if (image.channels != 1 && image.channels != 3) {
    throw InvalidArgument("rotation needs an image of 1 or 3 channels, not " +
                          std::to_string(image.channels));
  }
  if (out.height != image.height || out.width != image.width || out.channels != image.channels) {
    const auto text = [](const ConstImageView& view) {
      return std::to_string(view.height) + "x" + std::to_string(view.width) + "x" +
             std::to_string(view.channels);
    };
    throw InvalidArgument("the rotated image must have the image's size, " + text(image) +
                          ", not " + text(out));
  }
  if (fill.size() > 1 && static_cast<std::int64_t>(fill.size()) != image.channels) {
    throw InvalidArgument("the fill must have 1 or " + std::to_string(image.channels) +
                          " values, not " + std::to_string(fill.size()));
  }
  if (!std::isfinite(degrees)) {
    throw InvalidArgument("the angle must be a finite number, not " + std::to_string(degrees));
  }
  if (maybe_center && !(std::isfinite((*maybe_center)[0]) && std::isfinite((*maybe_center)[1]))) {
    throw InvalidArgument("the centre of rotation must be finite numbers, not " +
                          std::to_string((*maybe_center)[0]) + ", " +
                          std::to_string((*maybe_center)[1]));
  }
  if (out.width <= 0 || out.height <= 0) return;
  if (image.channels == 1) {
    rotate<1>(image, degrees, filter, maybe_center, fill, out);
  } else {
    rotate<3>(image, degrees, filter, maybe_center, fill, out);
  }
}

}  // namespace dts
