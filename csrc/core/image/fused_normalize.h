// SPDX-License-Identifier: Apache-2.0
// The fused tail: flip, ToTensor, Normalize in one pass over memory, from a uint8 HWC
// image into one image of a batch. Values equal torch's: (x / 255 - mean) / std in
// float32 with each step rounded, then rounded to the output type. A table of 256
// entries per channel holds them, so every kernel gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/simd.h"
#include "image/view.h"

namespace dts {

enum class PixelType { kUint8, kFloat32, kFloat16, kBfloat16 };
enum class MemoryFormat { kChannelsFirst, kChannelsLast };

std::size_t pixel_bytes(PixelType type);

struct NormalizeParams {
  PixelType type = PixelType::kFloat32;
  MemoryFormat format = MemoryFormat::kChannelsFirst;
  bool scale = true;             // to [0, 1] (ToTensor); false and kUint8: the value as it is
  bool multiply = false;         // scale by x * (1 / 255) instead of x / 255: torchvision v2's
                                 // ToDtype(scale=True), which differs in the last bit
  std::vector<float> mean, std;  // empty: no Normalize; length 1 serves all channels
  std::int64_t channels = 3;     // 1 or 3, the image's
};

// Whether values go past the caches, which saves reading their lines first and leaves the caches to
// others: for a batch that is larger than they are. What can't be streamed is not.
enum class Stores { kCached, kStreamed };

// Of at least this many bytes, a batch is streamed.
inline constexpr std::size_t kStreamedBatchBytes = std::size_t{16} << 20;

struct ConvertKernels;

class FusedNormalize {
 public:
  // InvalidArgument: channels, lengths of mean and std, one without the other, values that are
  // not finite, std of 0, mean with kUint8, a level that this CPU lacks.
  explicit FusedNormalize(const NormalizeParams& params, SimdLevel level = best_simd_level());

  const NormalizeParams& params() const { return params_; }
  // Writes the image (params.channels channels) to `out`, which holds
  // channels * height * width values of the type. Thread-safe.
  // InvalidArgument: an image with other channels.
  void run(const ConstImageView& image, bool flip_horizontal, void* out,
           Stores stores = Stores::kCached) const;
  // A rectangle of `out` (height x width image) set to one value per channel, or one for
  // all, already in output units (RandomErasing). Thread-safe. InvalidArgument: a box
  // outside of the image, another number of values, for kUint8 values outside of 0..255
  // (fractions are cut off, as torch does).
  void fill(const Box& box, std::int64_t height, std::int64_t width,
            const std::vector<float>& values, void* out) const;

 private:
  void make_table();
  bool make_formula();
  // Where the next values go.
  struct Output {
    std::uint8_t* begin = nullptr;
    bool streams = false;
  };
  void run_planes(const ConstImageView& image, bool flip, Output to) const;
  void run_pixels(const ConstImageView& image, Output to) const;
  void run_flipped_pixels(const ConstImageView& image, Output to) const;
  void convert(const std::uint8_t* in, std::int64_t count, std::int64_t channel,
               std::int64_t period, const Output& to, std::int64_t offset = 0) const;

  NormalizeParams params_;
  std::vector<std::uint32_t> table_;  // [channels][256], the bits of the output value
  // Constants of the formula that vector kernels use (convert_kernels.h).
  std::vector<float> channel_constants_;  // [channels][kNumConstants][kConstantRun]
  std::vector<float> pixel_constants_;    // [kNumConstants][kConstantRun], channels in turn
  const ConvertKernels* kernels_ = nullptr;
};

}  // namespace dts
