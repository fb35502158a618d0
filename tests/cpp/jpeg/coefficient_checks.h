// SPDX-License-Identifier: Apache-2.0
// Coefficients as libjpeg reads them, beside those of the decoder under test.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "jpeg/encoder.h"
#include "jpeg/entropy_decoder.h"
#include "jpeg/zigzag.h"

namespace dts::testing {

// Sampling that the decoder reads, sequential, with restart markers or without.
inline std::vector<Kind> baseline_kinds() {
  std::vector<Kind> kinds;
  for (const Kind& kind : every_kind()) {
    const bool is_plain =
        !kind.progressive && !kind.arithmetic && !kind.one_scan_each && kind.restart_interval == 0;
    const std::string& name = kind.name;
    const bool is_read =
        name == "444" || name == "422" || name == "420" || name == "440" || name.find("gray") == 0;
    if (is_plain && is_read) kinds.push_back(kind);
  }
  return kinds;
}

// All of a component, padding left out.
struct ComponentCoefficients {
  std::int64_t width = 0, height = 0;  // blocks
  std::vector<std::int16_t> values;
  const std::int16_t* block(std::int64_t y, std::int64_t x) const {
    return values.data() + (y * width + x) * kBlockCoefficients;
  }
};

inline std::vector<ComponentCoefficients> libjpeg_coefficients(const Bytes& data) {
  jpeg_decompress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&codec);
  jpeg_mem_src(&codec, reinterpret_cast<const unsigned char*>(data.data()), data.size());
  jpeg_read_header(&codec, TRUE);
  jvirt_barray_ptr* const arrays = jpeg_read_coefficients(&codec);
  std::vector<ComponentCoefficients> components;
  for (int c = 0; c < codec.num_components; ++c) {
    const jpeg_component_info& info = codec.comp_info[c];
    ComponentCoefficients component;
    component.width = info.width_in_blocks;
    component.height = info.height_in_blocks;
    for (JDIMENSION y = 0; y < info.height_in_blocks; ++y) {
      const JBLOCKARRAY rows = (*codec.mem->access_virt_barray)(
          reinterpret_cast<j_common_ptr>(&codec), arrays[c], y, 1, FALSE);
      const JCOEF* const first = rows[0][0];
      component.values.insert(component.values.end(), first,
                              first + info.width_in_blocks * kBlockCoefficients);
    }
    components.push_back(component);
  }
  jpeg_destroy_decompress(&codec);
  return components;
}

// Memory of exactly the size that MCUs of a row take, full of other values.
class RowMemory {
 public:
  RowMemory(const JpegGeometry& geometry, std::int64_t num_mcus) {
    for (std::size_t c = 0; c < static_cast<std::size_t>(geometry.num_components); ++c) {
      const std::int64_t columns = num_mcus * geometry.horizontal[c];
      const auto count = static_cast<std::size_t>(columns * geometry.vertical[c]);
      const std::size_t num_values = count * kBlockCoefficients;
      blocks_[c].reset(new (std::align_val_t{64}) std::int16_t[num_values]);
      std::fill_n(blocks_[c].get(), num_values, std::int16_t{-12345});
      ends_[c].assign(count, 99);
      ends_[c].shrink_to_fit();
      row_.planes[c] = {blocks_[c].get(), ends_[c].data(), columns, geometry.vertical[c]};
    }
  }
  const CoefficientRow& row() const { return row_; }

 private:
  struct Delete {
    void operator()(std::int16_t* data) const { ::operator delete[](data, std::align_val_t{64}); }
  };
  std::array<std::unique_ptr<std::int16_t[], Delete>, kMaxComponents> blocks_;
  std::array<std::vector<std::uint8_t>, kMaxComponents> ends_;
  CoefficientRow row_;
};

// Blocks of MCUs [first, end) of the row that are not libjpeg's, and ends that are wrong.
inline int count_wrong_blocks(const JpegGeometry& geometry, std::int64_t mcu_row,
                              std::int64_t first, const CoefficientRow& row,
                              const std::vector<ComponentCoefficients>& expected) {
  int wrong = 0;
  for (std::size_t c = 0; c < expected.size(); ++c) {
    const CoefficientPlane& plane = row.planes[c];
    for (int y = 0; y < plane.num_rows; ++y) {
      for (std::int64_t x = 0; x < plane.num_columns; ++x) {
        const std::int64_t block_row = mcu_row * geometry.vertical[c] + y;
        const std::int64_t block_column = first * geometry.horizontal[c] + x;
        const std::int64_t at = y * plane.num_columns + x;
        const std::int16_t* const block = plane.blocks + at * kBlockCoefficients;
        int end = 1;
        for (int k = 1; k < kBlockCoefficients; ++k) {
          if (block[kNaturalOrder[static_cast<std::size_t>(k)]] != 0) end = k + 1;
        }
        wrong += plane.ends[at] != end;  // libjpeg's encoder writes no zeros at the end
        if (block_row >= expected[c].height || block_column >= expected[c].width) continue;
        wrong += !std::equal(block, block + kBlockCoefficients,
                             expected[c].block(block_row, block_column));
      }
    }
  }
  return wrong;
}

}  // namespace dts::testing
