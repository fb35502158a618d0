// SPDX-License-Identifier: Apache-2.0
// Reads the coefficients of parts of a baseline JPEG, row of MCUs by row of MCUs: from the
// restart segments that hold them, or, where there are none, from the scan's start, with little
// work for what lies before them.
//
// Input: the encoded bytes, which must stay until the last read. Output: memory of the
// caller. What is not as it should be ends the reading: another decoder is to be asked. Whatever
// the bytes, nothing is read or written outside of its memory. One per thread; memory is kept.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "image/simd.h"
#include "jpeg/coded_segment.h"
#include "jpeg/coefficients.h"
#include "jpeg/frame_header.h"
#include "jpeg/huffman_tables.h"

namespace dts {

class EntropyDecoder {
 public:
  explicit EntropyDecoder(SimdLevel level = best_simd_level()) : segment_(level) {}

  // False unless the restart markers are all there and in order, and EOI follows.
  bool open(ConstByteSpan data, const FrameHeader& header);

  // From now on, until the next open(), only coefficients before this place in zigzag order are
  // needed, 1 to 64 for each component: others may be 0 or not.
  void keep(const std::array<int, kMaxComponents>& num_kept);
  void keep_all() {
    if (!keeps_all_) keep({kBlockCoefficients, kBlockCoefficients, kBlockCoefficients});
  }

  // MCUs [first, end) of a row. Rows are cheapest from the top to the bottom. False when
  // something is wrong with the codes; then the memory of `row` holds anything.
  bool read(std::int64_t mcu_row, std::int64_t first, std::int64_t end, const CoefficientRow& row);

  std::size_t held_bytes() const;
  // Gives the memory back; what was open is no longer.
  void release();

 private:
  bool find_tables();
  bool go_to(std::int64_t mcu);
  void open_segment(std::int64_t number);
  void build_skips();
  bool skip(std::int64_t num_mcus);
  void set_targets(const CoefficientRow& row);
  bool read_mcus(std::int64_t mcu_row, std::int64_t first, std::int64_t end);

  ConstByteSpan coded_;
  FrameHeader header_;
  std::vector<std::uint32_t> restarts_;  // offsets in coded_
  std::size_t end_ = 0;                  // of EOI in coded_
  std::int64_t interval_ = 0;            // MCUs of a segment
  std::int64_t num_mcus_ = 0;
  bool has_tables_ = false;
  std::array<int, kMaxComponents> num_kept_ = {};
  bool keeps_all_ = true;

  HuffmanTableCache tables_;
  std::array<AcTable*, kMaxComponents> ac_ = {};
  McuBlocks blocks_;
  std::array<std::array<std::uint8_t, 2>, kMaxBlocksPerMcu> places_ = {};  // of blocks: row, column

  CodedSegment segment_;
  std::int64_t segment_number_ = -1;  // that is open
  std::int64_t next_mcu_ = 0;         // of the picture
};

}  // namespace dts
