// SPDX-License-Identifier: Apache-2.0
#include "image/fused_normalize.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "image/convert_kernels.h"
#include "image/normalize_values.h"

namespace dts {
namespace {

// Pixels that go through the steps at a time; their bytes stay in the nearest cache.
constexpr std::int64_t kChunk = 512;

void check_fill(const NormalizeParams& params, const Box& box, std::int64_t height,
                std::int64_t width, const std::vector<float>& values) {
  const bool is_inside = box.top >= 0 && box.left >= 0 && box.height >= 0 && box.width >= 0 &&
                         box.top <= height && box.height <= height - box.top && box.left <= width &&
                         box.width <= width - box.left;
  if (!is_inside) {
    throw InvalidArgument("fill: the box " + std::to_string(box.width) + "x" +
                          std::to_string(box.height) + " at (" + std::to_string(box.left) + ", " +
                          std::to_string(box.top) + ") is not inside of the image " +
                          std::to_string(width) + "x" + std::to_string(height));
  }
  check_fill_values(params, values);
}

// The lowest `num_bytes` bytes, in the machine's order.
void store_bits(std::uint32_t bits, std::int64_t num_bytes, std::uint8_t* to) {
  if (num_bytes == 4) {
    std::memcpy(to, &bits, 4);
  } else if (num_bytes == 2) {
    const auto half = static_cast<std::uint16_t>(bits);
    std::memcpy(to, &half, 2);
  } else {
    *to = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace

std::size_t pixel_bytes(PixelType type) {
  switch (type) {
    case PixelType::kUint8:
      return 1;
    case PixelType::kFloat16:
    case PixelType::kBfloat16:
      return 2;
    case PixelType::kFloat32:
      break;
  }
  return 4;
}

FusedNormalize::FusedNormalize(const NormalizeParams& params, SimdLevel level) : params_(params) {
  check_normalize(params_);
  check_simd_level(level);
  make_table();
  kernels_ = &convert_kernels(level);
  if (kernels_->uses_formula && !make_formula()) kernels_ = &convert_kernels_generic();
}

void FusedNormalize::make_table() {
  table_.resize(static_cast<std::size_t>(params_.channels) * 256);
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const auto channel = static_cast<std::int64_t>(i / 256);
    table_[i] = output_bits(exact_value(params_, channel, static_cast<int>(i % 256)), params_.type);
  }
}

// False if the formula misses a value: then kernels read the table.
bool FusedNormalize::make_formula() {
  const auto channels = static_cast<std::size_t>(params_.channels);
  const std::size_t run = kConstantRun;
  channel_constants_.resize(channels * kNumConstants * run);
  pixel_constants_.resize(kNumConstants * run);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    const auto index = static_cast<std::int64_t>(channel);
    const NormalizeFormula formula = formula_of(params_, index);
    if (!formula_is_exact(params_, index, formula)) return false;
    for (std::size_t k = 0; k < kNumConstants; ++k) {
      float* all = channel_constants_.data() + (channel * kNumConstants + k) * run;
      std::fill_n(all, run, formula.constants[k]);
      for (std::size_t i = channel; i < run; i += channels) {
        pixel_constants_[k * run + i] = formula.constants[k];
      }
    }
  }
  return true;
}

void FusedNormalize::run(const ConstImageView& image, bool flip_horizontal, void* out) const {
  if (image.channels != params_.channels) {
    throw InvalidArgument("normalize: the image has " + std::to_string(image.channels) +
                          " channels, expected " + std::to_string(params_.channels));
  }
  auto* bytes = static_cast<std::uint8_t*>(out);
  if (params_.channels == 3 && params_.format == MemoryFormat::kChannelsFirst) {
    run_planes(image, flip_horizontal, bytes);
  } else {
    run_pixels(image, flip_horizontal, bytes);
  }
}

// RGB to one plane for each channel.
void FusedNormalize::run_planes(const ConstImageView& image, bool flip, std::uint8_t* out) const {
  alignas(64) std::uint8_t chunk[3][kChunk + kRowSlack];
  std::uint8_t* const rows[3] = {chunk[0], chunk[1], chunk[2]};
  const auto value_bytes = static_cast<std::int64_t>(pixel_bytes(params_.type));
  const std::int64_t plane_bytes = image.height * image.width * value_bytes;
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; x += kChunk) {
      const std::int64_t count = std::min(kChunk, image.width - x);
      const std::int64_t from = flip ? image.width - x - count : x;
      kernels_->split_rgb(image.row(y) + from * 3, count, flip, rows);
      std::uint8_t* to = out + (y * image.width + x) * value_bytes;
      for (std::int64_t c = 0; c < 3; ++c, to += plane_bytes) convert(rows[c], count, c, 1, to);
    }
  }
}

// Gray, or RGB to pixels.
void FusedNormalize::run_pixels(const ConstImageView& image, bool flip, std::uint8_t* out) const {
  alignas(64) std::uint8_t chunk[3 * kChunk + kRowSlack];
  const std::int64_t channels = image.channels;
  const auto pixel_size = channels * static_cast<std::int64_t>(pixel_bytes(params_.type));
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width; x += kChunk) {
      const std::int64_t count = std::min(kChunk, image.width - x);
      const std::uint8_t* pixels = image.row(y) + (flip ? image.width - x - count : x) * channels;
      if (flip) {
        (channels == 1 ? kernels_->flip_gray : kernels_->flip_rgb)(pixels, count, chunk);
        pixels = chunk;
      }
      convert(pixels, count * channels, 0, channels, out + (y * image.width + x) * pixel_size);
    }
  }
}

// Bytes of `period` channels in turn, the first being `channel`.
void FusedNormalize::convert(const std::uint8_t* in, std::int64_t count, std::int64_t channel,
                             std::int64_t period, std::uint8_t* out) const {
  ConvertJob job = {.in = in, .count = count, .period = period};
  job.table = table_.data() + channel * 256;
  job.constants = period == 1 ? channel_constants_.data() + channel * kNumConstants * kConstantRun
                              : pixel_constants_.data();
  job.out = out;
  switch (params_.type) {
    case PixelType::kUint8:
      std::memcpy(out, in, static_cast<std::size_t>(count));
      return;
    case PixelType::kFloat16:
      return kernels_->to_float16(job);
    case PixelType::kBfloat16:
      return kernels_->to_bfloat16(job);
    case PixelType::kFloat32:
      return kernels_->to_float32(job);
  }
}

void FusedNormalize::fill(const Box& box, std::int64_t height, std::int64_t width,
                          const std::vector<float>& values, void* out) const {
  check_fill(params_, box, height, width, values);
  const auto value_bytes = static_cast<std::int64_t>(pixel_bytes(params_.type));
  const std::int64_t channels = params_.channels;
  const bool is_planes = params_.format == MemoryFormat::kChannelsFirst;
  // Values from one row to the next, and from one pixel to the next.
  const std::int64_t row_step = is_planes ? width : width * channels;
  const std::int64_t pixel_step = is_planes ? 1 : channels;
  for (std::int64_t c = 0; c < channels; ++c) {
    const std::uint32_t bits = output_bits(pick_value(values, c, 0.0f), params_.type);
    auto* channel =
        static_cast<std::uint8_t*>(out) + (is_planes ? c * height * width : c) * value_bytes;
    for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
      std::uint8_t* to = channel + (y * row_step + box.left * pixel_step) * value_bytes;
      for (std::int64_t x = 0; x < box.width; ++x, to += pixel_step * value_bytes) {
        store_bits(bits, value_bytes, to);
      }
    }
  }
}

}  // namespace dts
