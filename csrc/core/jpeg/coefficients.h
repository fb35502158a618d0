// SPDX-License-Identifier: Apache-2.0
// What passes from the entropy decoder to the inverse transform: the quantized coefficients
// of one row of MCUs, or of a range of its columns. Plain data; memory belongs to who decodes.
#pragma once

#include <array>
#include <cstdint>

namespace dts {

inline constexpr int kBlockCoefficients = 64;
inline constexpr int kMaxComponents = 3;

// Of one component in one row of MCUs: `num_rows` (the component's vertical factor) rows of
// `num_columns` blocks, one row behind the other.
struct CoefficientPlane {
  // 64 to a block, row by row (not zigzag), at a multiple of 64 bytes.
  std::int16_t* blocks = nullptr;
  // Of each block, the place in zigzag order behind the last coefficient that may be other
  // than 0: 1 where there is only DC. Never 0.
  std::uint8_t* ends = nullptr;
  std::int64_t num_columns = 0;
  int num_rows = 0;
};

struct CoefficientRow {
  std::array<CoefficientPlane, kMaxComponents> planes;
};

// The frame of a JPEG of 1 or 3 components. One component: an MCU is one block.
struct JpegGeometry {
  std::int64_t width = 0;  // pixels
  std::int64_t height = 0;
  int num_components = 0;
  std::array<int, kMaxComponents> horizontal = {1, 1, 1};  // blocks of an MCU
  std::array<int, kMaxComponents> vertical = {1, 1, 1};

  std::int64_t mcu_width() const { return 8 * horizontal[0]; }
  std::int64_t mcu_height() const { return 8 * vertical[0]; }
  std::int64_t mcus_per_row() const { return (width + mcu_width() - 1) / mcu_width(); }
  std::int64_t mcu_rows() const { return (height + mcu_height() - 1) / mcu_height(); }
};

}  // namespace dts
