// SPDX-License-Identifier: Apache-2.0
// Pixels of a box of a JPEG from its quantized coefficients, one row of MCUs after the other.
// Bytes are those of libjpeg-turbo's default decoding of the whole picture: exact inverse
// transform, smooth chroma, YCbCr to RGB.
//
// Input: rows of coefficients, for the time of the call. Output: rows of pixels in memory of the
// object, valid until its next begin() or release(). Samples are kept for two rows of MCUs only.
// One object per thread; nothing is allocated once the largest box was seen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/box.h"
#include "image/scratch.h"
#include "image/simd.h"
#include "image/view.h"
#include "jpeg/coefficients.h"
#include "jpeg/idct_kernels.h"
#include "jpeg/rgb_kernels.h"

namespace dts {

// Columns [left, right) and rows [top, bottom) of MCUs.
struct McuRange {
  std::int64_t left = 0, right = 0, top = 0, bottom = 0;
  bool operator==(const McuRange&) const = default;
};

// Positions [begin, end).
struct Span {
  std::int64_t begin = 0, end = 0;
};

// Of each component 64 values, row by row (not zigzag).
using QuantTables = std::array<const std::uint16_t*, kMaxComponents>;

class PixelRows {
 public:
  explicit PixelRows(SimdLevel level = best_simd_level());

  // One component, or three of which the second and third have the same factors, the first
  // as many or twice as many either way. The factors are those of the MCUs: 1 and 1 for one
  // component. Three components are taken for YCbCr.
  static bool can_decode(const JpegGeometry& geometry);

  // The MCUs whose coefficients the pixels of `box` (not empty, inside of the picture) depend on:
  // those under it and, where chroma is smoothed over their edge, the next ones.
  static McuRange needed_mcus(const JpegGeometry& geometry, const Box& box);

  // A new picture, which can_decode(). `as_gray`: one channel; only for one component. The tables
  // are copied.
  void begin(const JpegGeometry& geometry, const QuantTables& tables, const Box& box,
             bool as_gray = false);

  // needed_mcus() of the present box.
  const McuRange& range() const { return range_; }

  // The next row of MCUs, beginning with row range().top: columns range().left to right - 1.
  // Returns how many rows of the box are finished now. InvalidArgument: planes of other sizes or
  // a row too many; nothing is read then.
  std::int64_t add_row(const CoefficientRow& row);

  std::int64_t num_finished() const { return num_finished_; }
  // The box; rows from num_finished() on hold anything. Rows lie further apart than they are long.
  const ConstImageView& pixels() const { return pixels_; }

  std::size_t held_bytes() const;
  void release();

 private:
  // The samples of one component: those of the present row of MCUs and, where chroma is half as
  // high, the last row of those before it.
  struct Plane {
    std::array<std::uint16_t, kBlockCoefficients> table = {};
    std::int64_t h = 1, v = 1;           // pixels to a sample
    std::int64_t block_columns = 1;      // of an MCU
    std::int64_t rows_per_mcu = 8;       // of samples
    std::int64_t width = 0, height = 0;  // of the picture, in samples
    Span columns, rows;                  // of samples that are needed
    std::int64_t first_column = 0;       // the first one that is kept, at a block's edge
    std::int64_t first_row = 0;          // of the present row of MCUs
    std::int64_t stride = 0;
    std::uint8_t* data = nullptr;  // of first_column in first_row
    std::uint8_t* at(std::int64_t y, std::int64_t x) const {
      return data + (y - first_row) * stride + (x - first_column);
    }
  };

  void lay_out_planes(const JpegGeometry& geometry, const QuantTables& tables);
  void lay_out_pixels(bool as_gray);
  void check(const CoefficientRow& row) const;
  void advance(Plane* plane) const;
  void transform(const Plane& plane, const CoefficientPlane& coefficients) const;
  void finish_row(std::int64_t y);
  void finish_pairs();
  void finish_pair(std::int64_t chroma_row);
  void repeat_chroma(RgbRow* row);
  std::uint8_t* out_row(std::int64_t y) const;

  IdctKernel idct_;
  const RgbKernels& rgb_;
  RgbKernel convert_ = nullptr;  // null: samples are the pixels, or rows come in pairs
  Scratch sample_memory_, pixel_memory_, sum_memory_, repeated_memory_;
  std::array<Plane, kMaxComponents> planes_;
  int num_components_ = 0;
  bool is_smooth_ = true;      // chroma is smoothed
  bool is_half_high_ = false;  // and half as high as luma
  bool in_pairs_ = false;      // and half as wide
  Box box_;
  McuRange range_;
  std::int64_t mcu_height_ = 0, height_ = 0;
  std::int64_t next_row_ = 0;      // of MCUs
  std::int64_t next_pair_ = 0;     // the lower row of chroma of the next pair of rows
  std::int64_t num_finished_ = 0;  // rows of the box
  std::int64_t first_pixel_ = 0;   // the column where conversion starts
  std::int64_t num_pixels_ = 0;    // of a row, from there on
  std::uint8_t* first_out_ = nullptr;
  std::array<std::int16_t*, 2> sums_ = {};
  ConstImageView pixels_;
};

}  // namespace dts
