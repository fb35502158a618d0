// SPDX-License-Identifier: Apache-2.0
// Pixels of a box of a JPEG at 1/2, 1/4 or 1/8 of its size from its quantized coefficients, one
// row of MCUs after the other, as PixelRows gives them at full size. Chroma that is half as wide
// and high is transformed at twice the size of luma, which makes it as large; other chroma is
// repeated.
//
// Input: rows of coefficients, for the time of the call. Output: rows of pixels in memory of the
// object, valid until its next begin() or release(). Nothing depends on other rows of MCUs.
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
#include "jpeg/pixel_rows.h"
#include "jpeg/rgb_kernels.h"
#include "jpeg/scaled_idct_kernels.h"

namespace dts {

class ScaledRows {
 public:
  explicit ScaledRows(SimdLevel level = best_simd_level())
      : level_(level), rgb_(rgb_kernels(level)) {}

  // A new picture, which PixelRows::can_decode(). `box`: in the picture at 1 / 2^halvings (1 to 3)
  // of its size, not empty, inside. `as_gray`: one channel; only for one component.
  void begin(const JpegGeometry& geometry, const QuantTables& tables, const Box& box, int halvings,
             bool as_gray = false);

  // The MCUs under the box.
  const McuRange& range() const { return range_; }
  // Of each component: the places in zigzag order that are looked at.
  const std::array<int, kMaxComponents>& num_kept() const { return num_kept_; }

  // The next row of MCUs, beginning with row range().top: columns range().left to right - 1.
  // InvalidArgument: planes of other sizes or a row too many; nothing is read then.
  void add_row(const CoefficientRow& row);

  // The box; rows that were not added yet hold anything.
  const ConstImageView& pixels() const { return pixels_; }

  std::size_t held_bytes() const;
  void release();

 private:
  // The samples of one component in the present row of MCUs.
  struct Plane {
    std::array<std::uint16_t, kBlockCoefficients> table = {};
    IdctKernel idct = nullptr;
    std::int64_t block_size = 8;     // samples of a side
    std::int64_t block_columns = 1;  // of an MCU
    std::int64_t block_rows = 1;
    std::int64_t repeat_h = 1, repeat_v = 1;  // pixels to a sample
    std::int64_t stride = 0;
    std::uint8_t* data = nullptr;
  };

  void check(const CoefficientRow& row) const;
  void transform(const Plane& plane, const CoefficientPlane& coefficients) const;
  void convert_row(std::int64_t y);
  const std::uint8_t* chroma(std::size_t c, std::int64_t row);

  SimdLevel level_;
  const RgbKernels& rgb_;
  Scratch sample_memory_, pixel_memory_, repeated_memory_;
  std::array<Plane, kMaxComponents> planes_;
  std::array<int, kMaxComponents> num_kept_ = {};
  int num_components_ = 0;
  bool as_gray_ = false;
  Box box_;
  McuRange range_;
  std::int64_t mcu_height_ = 0;   // pixels
  std::int64_t first_pixel_ = 0;  // of the box, counted from the first MCU
  std::int64_t next_row_ = 0;     // of MCUs
  std::uint8_t* first_out_ = nullptr;
  ConstImageView pixels_;
};

}  // namespace dts
