// SPDX-License-Identifier: Apache-2.0
// From encoded samples to a batch: decode, crop, resize. A pure tensor op. Samples are
// worked on side by side by torch's own threads.
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "image/resample.h"
#include "jpeg/decode.h"
#include "ops/decoder_checks.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/parallel.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

Filter filter_of(const std::string& name) {
  static const std::pair<const char*, Filter> kFilters[] = {
      {"nearest", Filter::kNearest}, {"box", Filter::kBox},         {"bilinear", Filter::kBilinear},
      {"hamming", Filter::kHamming}, {"bicubic", Filter::kBicubic}, {"lanczos", Filter::kLanczos}};
  for (const auto& [text, filter] : kFilters) {
    if (name == text) return filter;
  }
  throw InvalidArgument("interpolation is '" + name +
                        "', expected nearest, box, bilinear, hamming, bicubic or lanczos");
}

// What one thread needs for its samples.
struct Bench {
  Bench() { decoder.set_checking(checks_decoder()); }
  JpegDecoder decoder;
  Resampler resampler;
};

void check_inside(const Box& box, std::int64_t height, std::int64_t width, const char* what,
                  std::size_t sample) {
  const bool fits = box.height >= 1 && box.width >= 1 && box.top >= 0 && box.left >= 0 &&
                    box.top <= height - box.height && box.left <= width - box.width;
  if (!fits) {
    throw InvalidArgument("sample " + std::to_string(sample) + ": " + what + " (top " +
                          std::to_string(box.top) + ", left " + std::to_string(box.left) +
                          ", height " + std::to_string(box.height) + ", width " +
                          std::to_string(box.width) + ") is not inside " + std::to_string(height) +
                          " x " + std::to_string(width) + " pixels");
  }
}

// Decodes what the window depends on and resamples it.
DecodeStatus make_image(Bench& bench, ConstByteSpan data, const Box& crop, Filter filter,
                        std::int64_t resized_height, std::int64_t resized_width, const Box& window,
                        const ImageView& out, std::size_t sample) {
  const DecodeStatus opened = bench.decoder.open(data);
  if (opened != DecodeStatus::kOk) return opened;
  const JpegFrame& frame = bench.decoder.frame();
  check_inside(crop, frame.height, frame.width, "the crop", sample);
  const ResamplePlan plan =
      bench.resampler.plan(filter, crop.width, crop.height, resized_width, resized_height, window);
  Box needed = plan.source_box;
  needed.top += crop.top;
  needed.left += crop.left;
  ConstImageView pixels;
  const DecodeStatus decoded = bench.decoder.decode(needed, out.channels == 1, &pixels);
  if (decoded != DecodeStatus::kOk) return decoded;
  if (pixels.channels != out.channels) return DecodeStatus::kUnsupported;
  bench.resampler.run(plan, pixels, out);
  return DecodeStatus::kOk;
}

// Row i of `boxes`: top, left, height, width of the crop, then height and width it is
// resized to, then top and left of the window of the result that is wanted.
std::tuple<Tensor, Tensor> decode_crop_resize(Tensor arena, Tensor offsets, Tensor sizes,
                                              Tensor boxes, std::int64_t height, std::int64_t width,
                                              std::string interpolation, std::int64_t channels) {
  const ConstByteSpan bytes = byte_view(arena, "arena");
  const auto starts = int64_view(offsets, "offsets");
  const auto lengths = int64_view(sizes, "sizes");
  const auto rows = int64_view(boxes, "boxes");
  check_same_length(starts.size(), "offsets", lengths.size(), "sizes");
  check_same_length(rows.size(), "boxes", 8 * starts.size(), "8 * offsets");
  const Filter filter = filter_of(interpolation);
  if (channels != 1 && channels != 3) {
    throw InvalidArgument("channels is " + std::to_string(channels) + ", expected 1 or 3");
  }
  if (height < 1 || width < 1 || height > 65535 || width > 65535) {
    throw InvalidArgument("the output size is " + std::to_string(height) + " x " +
                          std::to_string(width) + ", expected 1 to 65535 each");
  }
  const auto count = static_cast<std::int64_t>(starts.size());
  const std::int64_t shape[4] = {count, height, width, channels};
  Tensor images = torch::stable::empty({shape, 4}, ScalarType::Byte);
  Tensor status = new_int64(count);
  auto* const pixels = static_cast<std::uint8_t*>(images.data_ptr());
  auto* const states = static_cast<std::int64_t*>(status.data_ptr());
  const std::int64_t image_bytes = height * width * channels;
  std::vector<ConstByteSpan> samples;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    samples.push_back(sample_bytes(bytes, starts[i], lengths[i], i));
  }
  in_parallel(count, [&](std::int64_t first, std::int64_t last) {
    Bench bench;
    for (std::int64_t i = first; i < last; ++i) {
      check_not_ending();
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t* const row = &rows[8 * at];
      const Box crop{row[0], row[1], row[2], row[3]};
      const Box window{row[6], row[7], height, width};
      check_inside(window, row[4], row[5], "the window", at);
      std::uint8_t* const out = pixels + i * image_bytes;
      const DecodeStatus result =
          make_image(bench, samples[at], crop, filter, row[4], row[5], window,
                     {out, height, width, channels, width * channels}, at);
      states[i] = static_cast<std::int64_t>(result);
      if (result != DecodeStatus::kOk) std::fill_n(out, image_bytes, std::uint8_t{0});
    }
  });
  return {images, status};
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "decode_crop_resize(Tensor arena, Tensor offsets, Tensor sizes, Tensor boxes, int height, "
      "int width, str interpolation, int channels) -> (Tensor images, Tensor status)");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("decode_crop_resize", DTS_BOX(&decode_crop_resize));
}

}  // namespace dts::ops
