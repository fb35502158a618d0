// SPDX-License-Identifier: Apache-2.0
// Samples in memory as ops are given them: encoded, or as pixels. They borrow the arena.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "image/view.h"
#include "ops/tensors.h"

namespace dts::ops {

// A sample in the arena; height 0: encoded.
struct Sample {
  ConstByteSpan bytes;
  std::int64_t height = 0, width = 0, channels = 0;

  ConstImageView pixels() const {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), height, width, channels,
            width * channels};
  }
};

inline Sample sample_at(ConstByteSpan arena, std::int64_t offset, std::int64_t size,
                        const std::int64_t* shape, std::size_t number) {
  const Sample sample = {sample_bytes(arena, offset, size, number), shape[0], shape[1], shape[2]};
  if (shape[0] == 0 && shape[1] == 0 && shape[2] == 0) return sample;
  // Divided, not multiplied: nothing overflows.
  const bool fits = shape[0] > 0 && shape[1] > 0 && shape[2] > 0 && size % shape[2] == 0 &&
                    size / shape[2] % shape[1] == 0 && size / shape[2] / shape[1] == shape[0];
  if (!fits) {
    throw InvalidArgument("sample " + std::to_string(number) + " has shape " +
                          std::to_string(shape[0]) + " x " + std::to_string(shape[1]) + " x " +
                          std::to_string(shape[2]) + ", expected that of its " +
                          std::to_string(size) + " bytes, or 0 x 0 x 0 for encoded ones");
  }
  return sample;
}

// Row i of `shapes`: height, width and channels of pixels, or zeros for encoded bytes.
// InvalidArgument, OutOfRange: what does not fit together or into the arena.
inline std::vector<Sample> samples_of(const Tensor& arena, const Tensor& offsets,
                                      const Tensor& sizes, const Tensor& shapes) {
  const ConstByteSpan bytes = byte_view(arena, "arena");
  const auto starts = int64_view(offsets, "offsets");
  const auto lengths = int64_view(sizes, "sizes");
  const auto rows = int64_view(shapes, "shapes");
  check_same_length(starts.size(), "offsets", lengths.size(), "sizes");
  check_same_length(rows.size(), "shapes", 3 * starts.size(), "3 * offsets");
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    samples.push_back(sample_at(bytes, starts[i], lengths[i], rows.data() + 3 * i, i));
  }
  return samples;
}

}  // namespace dts::ops
