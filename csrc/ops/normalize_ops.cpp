// SPDX-License-Identifier: Apache-2.0
// The fused tail of a batch: flip, ToTensor, Normalize, RandomErasing's boxes, in one pass. A
// pure tensor op; images are worked on side by side by torch's own threads. This is its
// kernel for the CPU, that for CUDA is in csrc/cuda.
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "image/fused_normalize.h"
#include "ops/ending.h"
#include "ops/normalize_arguments.h"
#include "ops/parallel.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

// Pixels of three channels with room for a fourth behind each, which is set to zero.
void spread_pixels(const std::byte* pixels, std::int64_t count, std::size_t value_bytes,
                   std::byte* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(out, pixels, 3 * value_bytes);
    std::memset(out + 3 * value_bytes, 0, value_bytes);
    pixels += 3 * value_bytes;
    out += 4 * value_bytes;
  }
}

// One image after the other; `box`: top, left, height, width, or null.
class ImageWriter {
 public:
  ImageWriter(const FusedNormalize& normalize, const NormalizeArguments& arguments)
      : normalize_(normalize), arguments_(arguments) {
    if (spreads()) three_.resize(bytes_of(arguments.params.channels));
  }

  void write(const std::uint8_t* pixels, bool flip, const std::int64_t* box, std::byte* out) {
    const std::int64_t channels = arguments_.params.channels;
    const std::int64_t height = arguments_.height;
    const std::int64_t width = arguments_.width;
    std::byte* const to = spreads() ? three_.data() : out;
    normalize_.run({pixels, height, width, channels, width * channels}, flip, to);
    // A side of 0: nothing, wherever it is. fill() refuses negative ones.
    const bool is_empty =
        box == nullptr || (std::min(box[2], box[3]) == 0 && std::max(box[2], box[3]) >= 0);
    if (!is_empty) {
      normalize_.fill({box[0], box[1], box[2], box[3]}, height, width, arguments_.erase_values, to);
    }
    if (spreads()) {
      spread_pixels(to, height * width, pixel_bytes(arguments_.params.type), out);
    } else {
      std::fill_n(out + bytes_of(channels), bytes_of(arguments_.out_channels - channels),
                  std::byte{0});
    }
  }

 private:
  bool spreads() const {
    return arguments_.params.format == MemoryFormat::kChannelsLast &&
           arguments_.out_channels != arguments_.params.channels;
  }
  std::size_t bytes_of(std::int64_t channels) const {
    return static_cast<std::size_t>(channels * arguments_.height * arguments_.width) *
           pixel_bytes(arguments_.params.type);
  }

  const FusedNormalize& normalize_;
  const NormalizeArguments& arguments_;
  std::vector<std::byte> three_;
};

Tensor fused_normalize(Tensor images, std::optional<Tensor> flip, Tensor mean, Tensor std,
                       ScalarType dtype, bool channels_last, std::optional<Tensor> boxes,
                       std::optional<Tensor> values, std::int64_t scale,
                       std::int64_t pad_channels) {
  if (images.is_cuda()) {
    throw InvalidArgument(
        "images is a CUDA tensor, but torch_dts's CUDA kernels are not loaded: a DataLoader with "
        "device=\"cuda\" loads them, or says why it can't");
  }
  const NormalizeArguments arguments = normalize_arguments(
      images, flip, mean, std, dtype, channels_last, boxes, values, scale, pad_channels);
  const FusedNormalize normalize(arguments.params);
  const std::vector<std::int64_t> shape = arguments.out_shape();
  Tensor result = torch::stable::empty({shape.data(), shape.size()}, dtype);
  const auto* const from = static_cast<const std::uint8_t*>(images.data_ptr());
  const auto* const flips = flip ? static_cast<const bool*>(flip->data_ptr()) : nullptr;
  const auto* const rows = boxes ? static_cast<const std::int64_t*>(boxes->data_ptr()) : nullptr;
  auto* const to = static_cast<std::byte*>(result.data_ptr());
  const std::int64_t in_bytes = arguments.params.channels * arguments.height * arguments.width;
  const auto out_bytes =
      arguments.out_image_values() * static_cast<std::int64_t>(pixel_bytes(arguments.params.type));
  if (in_bytes > 0) {
    in_parallel(arguments.count, [&](std::int64_t first, std::int64_t last) {
      ImageWriter writer(normalize, arguments);
      for (std::int64_t i = first; i < last; ++i) {
        check_not_ending();
        writer.write(from + i * in_bytes, flips != nullptr && flips[i],
                     rows == nullptr ? nullptr : rows + 4 * i, to + i * out_bytes);
      }
    });
  }
  return as_nchw(result, arguments);
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "fused_normalize(Tensor images, Tensor? flip, Tensor mean, Tensor std, ScalarType dtype, "
      "bool channels_last, Tensor? boxes=None, Tensor? values=None, int scale=1, "
      "int pad_channels=0) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("fused_normalize", DTS_BOX(&fused_normalize));
}

}  // namespace dts::ops
