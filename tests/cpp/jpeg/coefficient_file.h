// SPDX-License-Identifier: Apache-2.0
// A JPEG's quantized coefficients as libjpeg reads them, handed out as our entropy decoder
// would hand them out.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "jpeg/encoder.h"
#include "jpeg/pixel_rows.h"

namespace dts::testing {

class CoefficientFile {
 public:
  explicit CoefficientFile(const Bytes& data);

  const JpegGeometry& geometry() const { return geometry_; }
  QuantTables tables() const;

  // Row `mcu_row` of the columns of `range`, in memory of exactly that size. `exact_ends`: as
  // small as they can be; else larger ones among them.
  const CoefficientRow& row(const McuRange& range, std::int64_t mcu_row, bool exact_ends = true);

  // Decodes `box` through `rows`.
  ConstImageView decode(PixelRows& rows, const Box& box, bool as_gray = false,
                        bool exact_ends = true);

 private:
  struct Free {
    void operator()(std::int16_t* data) const { ::operator delete(data, std::align_val_t{64}); }
  };
  struct Component {
    std::array<std::uint16_t, 64> table = {};
    std::int64_t num_columns = 0;  // blocks, whole MCUs
    std::vector<std::array<std::int16_t, 64>> blocks;
    std::unique_ptr<std::int16_t, Free> part;
    std::vector<std::uint8_t> ends;
  };

  JpegGeometry geometry_;
  std::array<Component, kMaxComponents> components_;
  CoefficientRow row_;
  std::uint64_t state_ = 1;
};

// The same picture with coefficients of its own: `change(block, component)` gets each block, row by
// row, and may put anything there that Huffman codes can hold.
using ChangeBlock = void (*)(std::int16_t* block, int component, std::uint64_t& state);
Bytes with_changed_blocks(const Bytes& data, ChangeBlock change, std::uint64_t seed);

}  // namespace dts::testing
