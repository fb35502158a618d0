// SPDX-License-Identifier: Apache-2.0
#include "jpeg/same_pixels.h"

#include <algorithm>
#include <cstring>
#include <new>

// After jpeglib.h.
#include <jerror.h>

namespace dts {
namespace {

constexpr JDIMENSION kRowsAtOnce = 16;

J_COLOR_SPACE pixel_space(int num_components) {
  return num_components == 1 ? JCS_GRAYSCALE : num_components == 4 ? JCS_CMYK : JCS_RGB;
}

bool is_out_of_memory(const LibjpegSession& session) {
  return session.error_code() == JERR_OUT_OF_MEMORY;
}

}  // namespace

bool PixelComparer::start(Side& side, ConstByteSpan data) {
  if (!side.session.read_header(data)) return false;
  const bool has_started = side.session.guarded([](jpeg_decompress_struct& codec) {
    codec.out_color_space = pixel_space(codec.num_components);
    jpeg_start_decompress(&codec);
  });
  if (!has_started) return false;
  const jpeg_decompress_struct& codec = side.session.codec();
  const std::size_t row_bytes =
      std::size_t{codec.output_width} * static_cast<std::size_t>(codec.output_components);
  side.rows.resize(std::max(side.rows.size(), kRowsAtOnce * row_bytes));
  return true;
}

bool PixelComparer::read_rows(Side& side, JDIMENSION num_rows) {
  JSAMPLE* const first = side.rows.data();
  return side.session.guarded([first, num_rows](jpeg_decompress_struct& codec) {
    const std::size_t row_bytes =
        std::size_t{codec.output_width} * static_cast<std::size_t>(codec.output_components);
    for (JDIMENSION y = 0; y < num_rows;) {
      JSAMPROW pointers[kRowsAtOnce];
      for (JDIMENSION i = y; i < num_rows; ++i) pointers[i - y] = first + i * row_bytes;
      y += jpeg_read_scanlines(&codec, pointers, num_rows - y);
    }
  });
}

PixelComparison PixelComparer::compare(ConstByteSpan a, ConstByteSpan b) {
  PixelComparison result = PixelComparison::kSame;
  if (!start(a_, a) || !start(b_, b)) {
    result = PixelComparison::kFailed;
  } else {
    const jpeg_decompress_struct& one = a_.session.codec();
    const jpeg_decompress_struct& other = b_.session.codec();
    if (one.output_width != other.output_width || one.output_height != other.output_height ||
        one.output_components != other.output_components) {
      result = PixelComparison::kDifferent;
    }
    const std::size_t row_bytes =
        std::size_t{one.output_width} * static_cast<std::size_t>(one.output_components);
    for (JDIMENSION y = 0; result == PixelComparison::kSame && y < one.output_height;) {
      const JDIMENSION count = std::min(kRowsAtOnce, one.output_height - y);
      if (!read_rows(a_, count) || !read_rows(b_, count)) {
        result = PixelComparison::kFailed;
      } else if (std::memcmp(a_.rows.data(), b_.rows.data(), count * row_bytes) != 0) {
        result = PixelComparison::kDifferent;
      }
      y += count;
    }
    const long num_warnings = one.err->num_warnings + other.err->num_warnings;
    if (result == PixelComparison::kSame && num_warnings > 0) result = PixelComparison::kFailed;
  }
  const bool lacks_memory = is_out_of_memory(a_.session) || is_out_of_memory(b_.session);
  a_.session.close();
  b_.session.close();
  if (result == PixelComparison::kFailed && lacks_memory) throw std::bad_alloc();
  return result;
}

}  // namespace dts
