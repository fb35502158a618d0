// SPDX-License-Identifier: Apache-2.0
// Sums over the pixels of samples in memory, for mean and standard deviation of a set. A
// pure tensor op, on the caller's thread alone: convert calls it from its own threads.
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "image/pixel_sums.h"
#include "jpeg/decode.h"
#include "ops/decoder_checks.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/samples.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

constexpr std::int64_t kColumns = 8;
// Above `max_pixels` Pillow is asked, which warns or refuses: a small file may claim any size.
DecodeStatus add_up(JpegDecoder& decoder, const Sample& sample, std::int64_t max_pixels,
                    PixelSums* sums) {
  if (sample.height != 0) {
    *sums = pixel_sums(sample.pixels());
    return DecodeStatus::kOk;
  }
  const DecodeStatus opened = decoder.open(sample.bytes);
  if (opened != DecodeStatus::kOk) return opened;
  const JpegFrame& frame = decoder.frame();
  if (frame.height > max_pixels / frame.width) return DecodeStatus::kUnsupported;
  ConstImageView pixels;
  const DecodeStatus decoded =
      decoder.decode({0, 0, frame.height, frame.width}, frame.is_gray, &pixels);
  if (decoded == DecodeStatus::kOk) *sums = pixel_sums(pixels);
  return decoded;
}

// Row: status, number of pixels, the sums of R, G and B, the sums of their squares.
Tensor pixel_sums_op(Tensor arena, Tensor offsets, Tensor sizes, Tensor shapes,
                     std::int64_t max_pixels) {
  return guarded([&] {
    const std::vector<Sample> samples = samples_of(arena, offsets, sizes, shapes);
    const std::int64_t size[2] = {static_cast<std::int64_t>(samples.size()), kColumns};
    Tensor result = torch::stable::empty({size, 2}, ScalarType::Long);
    auto* row = static_cast<std::int64_t*>(result.data_ptr());
    const std::int64_t most =
        max_pixels < 0 ? std::numeric_limits<std::int64_t>::max() : max_pixels;
    JpegDecoder decoder;
    decoder.set_checking(checks_decoder());
    for (const Sample& sample : samples) {
      check_not_ending();
      PixelSums sums;
      row[0] = static_cast<std::int64_t>(add_up(decoder, sample, most, &sums));
      row[1] = sums.num_pixels;
      std::copy(sums.sums.begin(), sums.sums.end(), row + 2);
      std::copy(sums.squares.begin(), sums.squares.end(), row + 5);
      row += kColumns;
    }
    return result;
  });
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "pixel_sums(Tensor arena, Tensor offsets, Tensor sizes, Tensor shapes, "
      "int max_pixels) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("pixel_sums", DTS_BOX(&pixel_sums_op));
}

}  // namespace dts::ops
