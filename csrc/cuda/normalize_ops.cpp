// SPDX-License-Identifier: Apache-2.0
// torch_dts::fused_normalize of CUDA tensors: on the device they are on, on its current
// stream. What a launch needs beside the tensors goes with it, so that it can be captured.
#include <cuda_runtime_api.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "cuda/fused_normalize.h"
#include "ops/normalize_arguments.h"

namespace dts::cuda {
namespace {

using ops::NormalizeArguments;
using ops::ScalarType;
using ops::Tensor;

cudaStream_t current_stream(std::int32_t device) {
  void* stream = nullptr;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(device, &stream));
  return static_cast<cudaStream_t>(stream);
}

// What the kernel needs to make values: the formula where it is exact, and the table.
void set_values(const NormalizeArguments& arguments, NormalizeJob& job) {
  const NormalizeParams& params = arguments.params;
  job.uses_formula = true;
  for (std::int64_t c = 0; c < params.channels; ++c) {
    for (int byte = 0; byte < 256; ++byte) job.table[c][byte] = exact_value(params, c, byte);
    NormalizeFormula formula = formula_of(params, c);
    if (params.type == PixelType::kUint8) formula = {.constants = {1.0f, 0.0f, 0.0f, 1.0f, 0.0f}};
    job.uses_formula = job.uses_formula && formula_is_exact(params, c, formula);
    std::copy(std::begin(formula.constants), std::end(formula.constants), job.constants[c]);
    job.erase_values[c] = pick_value(arguments.erase_values, c, 0.0f);
  }
}

Tensor fused_normalize(Tensor images, std::optional<Tensor> flip, Tensor mean, Tensor std,
                       ScalarType dtype, bool channels_last, std::optional<Tensor> boxes,
                       std::optional<Tensor> values, std::int64_t scale,
                       std::int64_t pad_channels) {
  const NormalizeArguments arguments = ops::normalize_arguments(
      images, flip, mean, std, dtype, channels_last, boxes, values, scale, pad_channels);
  if (arguments.height > std::numeric_limits<int>::max() / 2 ||
      arguments.width > std::numeric_limits<int>::max() / 2) {
    throw InvalidArgument("images are larger than 2^30 rows or columns");
  }
  const auto device = static_cast<std::int32_t>(images.get_device_index());
  const torch::stable::accelerator::DeviceGuard guard(device);
  const std::vector<std::int64_t> shape = arguments.out_shape();
  Tensor result = torch::stable::new_empty(images, {shape.data(), shape.size()}, dtype);
  NormalizeJob job;
  job.images = static_cast<const std::uint8_t*>(images.data_ptr());
  job.flips = flip ? static_cast<const bool*>(flip->data_ptr()) : nullptr;
  job.boxes = boxes ? static_cast<const std::int64_t*>(boxes->data_ptr()) : nullptr;
  job.out = result.data_ptr();
  job.count = arguments.count;
  job.height = static_cast<int>(arguments.height);
  job.width = static_cast<int>(arguments.width);
  job.channels = static_cast<int>(arguments.params.channels);
  job.out_channels = static_cast<int>(arguments.out_channels);
  set_values(arguments, job);
  STD_CUDA_CHECK(launch_fused_normalize(job, arguments.params.type, arguments.params.format,
                                        current_stream(device)));
  return ops::as_nchw(result, arguments);
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CUDA, m) {
  m.impl("fused_normalize", TORCH_BOX(&fused_normalize));
}

}  // namespace dts::cuda
