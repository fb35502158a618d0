// SPDX-License-Identifier: Apache-2.0
#include "jpeg/encode.h"

#include <algorithm>
#include <new>
#include <string>

#include "base/error.h"
#include "jpeg/restart_interval.h"

namespace dts {
namespace {

constexpr int kMaxQuality = 100;
constexpr std::int64_t kRowsPerCall = 16;
// Half a byte for each pixel is a guess; noise takes more and the memory grows.
constexpr std::int64_t kPixelsPerByte = 2;
constexpr std::size_t kHeaderBytes = 1024;
constexpr int kColourSampling = 2;

void check(const ConstImageView& pixels, const EncodeOptions& options) {
  if (pixels.channels != 1 && pixels.channels != 3) {
    throw InvalidArgument("encode: the picture has " + std::to_string(pixels.channels) +
                          " channels, expected 1 or 3");
  }
  const bool has_size = pixels.width >= 1 && pixels.height >= 1 &&
                        pixels.width <= JPEG_MAX_DIMENSION && pixels.height <= JPEG_MAX_DIMENSION;
  if (!has_size) {
    throw InvalidArgument("encode: the picture is " + std::to_string(pixels.width) + " x " +
                          std::to_string(pixels.height) + ", a JPEG has 1 to " +
                          std::to_string(JPEG_MAX_DIMENSION) + " pixels a side");
  }
  if (options.quality < 1 || options.quality > kMaxQuality) {
    throw InvalidArgument("encode: the quality is " + std::to_string(options.quality) +
                          ", expected 1 to 100");
  }
}

}  // namespace

ConstByteSpan JpegEncoder::encode(const ConstImageView& pixels, const EncodeOptions& options) {
  check(pixels, options);
  const int num_components = static_cast<int>(pixels.channels);
  const std::int64_t row = mcus_per_row(pixels.width, kColourSampling, num_components);
  const auto interval =
      static_cast<unsigned>(choose_restart_interval(options.restart_interval, row));
  const auto expected_bytes =
      static_cast<std::size_t>(pixels.width * pixels.height / kPixelsPerByte) + kHeaderBytes;
  const bool is_written =
      session_.begin(expected_bytes) && session_.guarded([&](jpeg_compress_struct& codec) {
        codec.image_width = static_cast<JDIMENSION>(pixels.width);
        codec.image_height = static_cast<JDIMENSION>(pixels.height);
        codec.input_components = num_components;
        codec.in_color_space = num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&codec);
        jpeg_set_quality(&codec, options.quality, TRUE);
        codec.optimize_coding = options.optimize_tables ? TRUE : FALSE;
        codec.restart_interval = interval;
        jpeg_start_compress(&codec, TRUE);
        for (std::int64_t y = codec.next_scanline; y < pixels.height; y = codec.next_scanline) {
          JSAMPROW rows[kRowsPerCall];
          const std::int64_t count = std::min(kRowsPerCall, pixels.height - y);
          // libjpeg only reads them.
          for (std::int64_t i = 0; i < count; ++i) {
            rows[i] = const_cast<JSAMPROW>(pixels.row(y + i));
          }
          jpeg_write_scanlines(&codec, rows, static_cast<JDIMENSION>(count));
        }
        jpeg_finish_compress(&codec);
      });
  session_.close();
  // Nothing else is left to go wrong: the pixels can't.
  if (!is_written) throw std::bad_alloc();
  return session_.written();
}

}  // namespace dts
