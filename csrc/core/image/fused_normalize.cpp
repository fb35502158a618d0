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
// Images from here on make batches that no cache keeps until somebody reads them. Their values go
// past the caches: a store would first read the memory that it fills.

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

// Values from the table; vectors still take rows apart and turn them round.
const ConvertKernels& table_kernels(SimdLevel level) {
  static const ConvertKernels mixed = [] {
    ConvertKernels kernels = convert_kernels_generic();
    kernels.split_rgb = convert_kernels_avx2().split_rgb;
    kernels.flip_rgb = convert_kernels_avx2().flip_rgb;
    kernels.flip_gray = convert_kernels_avx2().flip_gray;
    return kernels;
  }();
  return level == SimdLevel::kGeneric ? convert_kernels_generic() : mixed;
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
  if (kernels_->uses_formula && !make_formula()) kernels_ = &table_kernels(level);
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

void FusedNormalize::run(const ConstImageView& image, bool flip_horizontal, void* out,
                         Stores stores) const {
  if (image.channels != params_.channels) {
    throw InvalidArgument("normalize: the image has " + std::to_string(image.channels) +
                          " channels, expected " + std::to_string(params_.channels));
  }
  Output to = {static_cast<std::uint8_t*>(out)};
  to.streams = stores == Stores::kStreamed && kernels_->end_stream != nullptr;
  if (params_.channels == 3 && params_.format == MemoryFormat::kChannelsFirst) {
    run_planes(image, flip_horizontal, to);
  } else if (flip_horizontal) {
    run_flipped_pixels(image, to);
  } else {
    run_pixels(image, to);
  }
  if (to.streams) kernels_->end_stream();
}

// RGB to one plane for each channel. Rows follow each other in a plane, so that they go through the
// steps together, by chunks: a call for each row of a small image costs more than its values.
void FusedNormalize::run_planes(const ConstImageView& image, bool flip, Output to) const {
  alignas(64) std::uint8_t chunk[3][kChunk + kRowSlack];
  const auto value_bytes = static_cast<std::int64_t>(pixel_bytes(params_.type));
  const std::int64_t plane_bytes = image.height * image.width * value_bytes;
  std::int64_t filled = 0;
  const auto flush = [&] {
    for (std::int64_t c = 0; c < 3; ++c) convert(chunk[c], filled, c, 1, to, c * plane_bytes);
    to.begin += filled * value_bytes;
    filled = 0;
  };
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t x = 0; x < image.width;) {
      const std::int64_t count = std::min(kChunk - filled, image.width - x);
      const std::int64_t from = flip ? image.width - x - count : x;
      std::uint8_t* const rows[3] = {chunk[0] + filled, chunk[1] + filled, chunk[2] + filled};
      kernels_->split_rgb(image.row(y) + from * 3, count, flip, rows);
      x += count;
      filled += count;
      if (filled == kChunk) flush();
    }
  }
  if (filled > 0) flush();
}

// Gray, or RGB to pixels.
void FusedNormalize::run_pixels(const ConstImageView& image, Output to) const {
  const std::int64_t channels = image.channels;
  const auto value_bytes = static_cast<std::int64_t>(pixel_bytes(params_.type));
  // Rows without gaps are one long row.
  const bool is_whole = image.stride == image.width * channels;
  const std::int64_t num_rows = is_whole ? std::min<std::int64_t>(image.height, 1) : image.height;
  const std::int64_t count = (is_whole ? image.height : 1) * image.width * channels;
  for (std::int64_t y = 0; y < num_rows; ++y, to.begin += count * value_bytes) {
    convert(image.row(y), count, 0, channels, to);
  }
}

void FusedNormalize::run_flipped_pixels(const ConstImageView& image, Output to) const {
  alignas(64) std::uint8_t chunk[3 * kChunk + kRowSlack];
  const std::int64_t channels = image.channels;
  const auto value_bytes = static_cast<std::int64_t>(pixel_bytes(params_.type));
  const auto flip_row = channels == 1 ? kernels_->flip_gray : kernels_->flip_rgb;
  std::int64_t filled = 0;
  const auto flush = [&] {
    convert(chunk, filled * channels, 0, channels, to);
    to.begin += filled * channels * value_bytes;
    filled = 0;
  };
  for (std::int64_t y = 0; y < image.height; ++y) {
    for (std::int64_t end = image.width; end > 0;) {
      const std::int64_t count = std::min(kChunk - filled, end);
      end -= count;
      flip_row(image.row(y) + end * channels, count, chunk + filled * channels);
      filled += count;
      if (filled == kChunk) flush();
    }
  }
  if (filled > 0) flush();
}

// Bytes of `period` channels in turn, the first being `channel`.
void FusedNormalize::convert(const std::uint8_t* in, std::int64_t count, std::int64_t channel,
                             std::int64_t period, const Output& to, std::int64_t offset) const {
  ConvertJob job = {.in = in, .count = count, .period = period};
  job.table = table_.data() + channel * 256;
  job.constants = period == 1 ? channel_constants_.data() + channel * kNumConstants * kConstantRun
                              : pixel_constants_.data();
  job.out = to.begin + offset;
  job.streams = to.streams;
  switch (params_.type) {
    case PixelType::kUint8:
      std::memcpy(job.out, in, static_cast<std::size_t>(count));
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
