// SPDX-License-Identifier: Apache-2.0
// The arguments of torch_dts::fused_normalize, checked alike for every device. Holds no
// tensor: the caller keeps those whose memory is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "image/normalize_values.h"
#include "ops/pixel_types.h"
#include "ops/tensors.h"

namespace dts::ops {

struct NormalizeArguments {
  std::int64_t count = 0, height = 0, width = 0;
  std::int64_t out_channels = 0;  // params.channels, or more: those are zero
  NormalizeParams params;
  std::vector<float> erase_values;  // one, or one for each channel; empty: no boxes

  std::int64_t out_image_values() const { return out_channels * height * width; }
  // The result's memory in the order it is written.
  std::vector<std::int64_t> out_shape() const {
    if (params.format == MemoryFormat::kChannelsLast) return {count, height, width, out_channels};
    return {count, out_channels, height, width};
  }
};

// The tensors of an image batch beside `images`: on the same device, contiguous.
inline void check_beside(const Tensor& tensor, const Tensor& images, ScalarType dtype,
                         const char* name, const char* dtype_name) {
  if (tensor.is_cuda() != images.is_cuda() ||
      tensor.get_device_index() != images.get_device_index()) {
    throw InvalidArgument(std::string(name) + " must be on the device of images");
  }
  if (tensor.scalar_type() != dtype) {
    throw InvalidArgument(std::string(name) + " must have dtype " + dtype_name);
  }
  if (!tensor.is_contiguous()) throw InvalidArgument(std::string(name) + " must be contiguous");
}

inline std::vector<float> floats_of(const Tensor& tensor, const char* name) {
  check_tensor(tensor, ScalarType::Float, name, "torch.float32");
  const auto* const data = static_cast<const float*>(tensor.data_ptr());
  return {data, data + tensor.numel()};
}

// InvalidArgument: what doesn't fit. `flip` bool [n] and `boxes` int64 [n, 4] are looked at
// from outside only; mean, std and values are float32 on the CPU.
inline NormalizeArguments normalize_arguments(
    const Tensor& images, const std::optional<Tensor>& flip, const Tensor& mean, const Tensor& std,
    ScalarType dtype, bool channels_last, const std::optional<Tensor>& boxes,
    const std::optional<Tensor>& values, std::int64_t scale, std::int64_t pad_channels) {
  check_beside(images, images, ScalarType::Byte, "images", "torch.uint8");
  if (images.dim() != 4) throw InvalidArgument("images must have 4 dimensions: N, H, W, C");
  NormalizeArguments made;
  made.count = images.size(0);
  made.height = images.size(1);
  made.width = images.size(2);
  made.params.channels = images.size(3);
  made.params.type = pixel_type_of(dtype);
  made.params.format = channels_last ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsFirst;
  made.params.mean = floats_of(mean, "mean");
  made.params.std = floats_of(std, "std");
  if (scale < 0 || scale > 2) {
    throw InvalidArgument("scale is " + std::to_string(scale) +
                          ", expected 0 (none), 1 (x / 255) or 2 (x * (1 / 255))");
  }
  made.params.scale = scale != 0;
  made.params.multiply = scale == 2;
  check_normalize(made.params);
  const auto count = static_cast<std::size_t>(made.count);
  if (flip) {
    check_beside(*flip, images, ScalarType::Bool, "flip", "torch.bool");
    check_same_length(static_cast<std::size_t>(flip->numel()), "flip", count, "images");
  }
  if (boxes.has_value() != values.has_value()) {
    throw InvalidArgument("boxes and values belong together: give both or neither");
  }
  if (boxes) {
    check_beside(*boxes, images, ScalarType::Long, "boxes", "torch.int64");
    check_same_length(static_cast<std::size_t>(boxes->numel()), "boxes", 4 * count, "4 * images");
    made.erase_values = floats_of(*values, "values");
    check_fill_values(made.params, made.erase_values);
  }
  made.out_channels = made.params.channels;
  if (pad_channels != 0) {
    if (pad_channels != 4 || made.params.channels != 3) {
      throw InvalidArgument("pad_channels is " + std::to_string(pad_channels) + " for images of " +
                            std::to_string(made.params.channels) +
                            " channels, expected 0, or 4 for images of 3");
    }
    made.out_channels = pad_channels;
  }
  return made;
}

// The result as [N, C, H, W], whatever the order of its memory.
inline Tensor as_nchw(const Tensor& result, const NormalizeArguments& arguments) {
  if (arguments.params.format != MemoryFormat::kChannelsLast) return result;
  const std::int64_t order[4] = {0, 3, 1, 2};
  return torch::stable::permute(result, {order, 4});
}

}  // namespace dts::ops
