// SPDX-License-Identifier: Apache-2.0
// Cuts a small JPEG out of one with restart markers: the restart segments under a box, copied
// one behind the other with their markers renumbered, under the old header with a new size.
// Decoded, the small JPEG has in the box exactly the pixels of the whole one
// (docs/architecture.md says why). Nothing is decoded here.
//
// Input: the encoded bytes, which must stay until the last cut(). Output: bytes in memory the
// splicer owns and uses again. One splicer per thread.
#pragma once

#include <optional>
#include <vector>

#include "base/box.h"
#include "base/bytes.h"
#include "image/scratch.h"
#include "jpeg/splice_header.h"

namespace dts {

class Splicer {
 public:
  struct Part {
    ConstByteSpan data;  // a complete JPEG, until the next call
    Box box;             // where the box lies in it
  };

  // Reads the header and all markers of the scan. False, and then nothing can be cut, unless the
  // restart interval divides a row's MCUs or is a multiple of them, the restart markers are all
  // there and in order, and EOI follows: then libjpeg surely reads a picture from the data.
  bool open(ConstByteSpan data);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  const SpliceHeader& header() const { return header_; }

  // `box` is inside of the picture. Empty when libjpeg would read hardly more from the whole
  // JPEG than from the part, unless `even_if_slower`.
  std::optional<Part> cut(const Box& box, bool even_if_slower = false);

  std::size_t held_bytes() const;
  // Gives the memory back; closes.
  void release();

 private:
  // Segments, counted in segments: columns [left, right), rows [top, bottom).
  struct Cut {
    std::int64_t left, right, top, bottom;
  };

  bool lay_grid();
  Cut cut_around(const Box& box) const;
  bool saves_work(const Box& box, const Cut& cut) const;
  ConstByteSpan row_of(const Cut& cut, std::int64_t row) const;
  std::size_t first_byte(std::int64_t segment) const;
  std::size_t marker_of(std::int64_t segment) const;
  void renumber(const Cut& cut, std::int64_t row, std::uint8_t* copy) const;

  ConstByteSpan coded_;  // behind the scan's header
  SpliceHeader header_;
  std::int64_t mcus_per_row_ = 0;
  std::int64_t num_columns_ = 0, num_rows_ = 0;          // of segments
  std::int64_t segment_width_ = 0, segment_height_ = 0;  // pixels
  std::vector<std::byte> head_;                          // as read_splice_header copied it
  std::vector<std::uint32_t> restarts_;                  // offsets in coded_
  std::size_t end_ = 0;                                  // of EOI in coded_
  Scratch part_;
  bool is_open_ = false;
};

}  // namespace dts
