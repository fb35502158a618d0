// SPDX-License-Identifier: Apache-2.0
// Decodes a box of a usual baseline JPEG without libjpeg, with the same pixels: only the codes
// that lead to the box, only the blocks under it. Whatever is unusual or wrong is refused, and
// libjpeg is to be asked.
//
// Input: the encoded bytes, which must stay until the last decode(). Output: pixels in memory
// of the decoder, valid until its next call. One per thread; its memory is reused, and
// nothing is allocated once the largest picture was seen.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/box.h"
#include "base/bytes.h"
#include "image/scratch.h"
#include "image/simd.h"
#include "image/view.h"
#include "jpeg/entropy_decoder.h"
#include "jpeg/frame_header.h"
#include "jpeg/pixel_rows.h"
#include "jpeg/scaled_rows.h"

namespace dts {

class CropDecoder {
 public:
  explicit CropDecoder(SimdLevel level = best_simd_level())
      : entropy_(level), pixels_(level), scaled_(level) {}

  // Reads the header and finds all markers. False, and then nothing can be decoded, unless all
  // is as jpeg/frame_header.h and jpeg/entropy_decoder.h ask: then libjpeg surely reads a picture,
  // too, and nothing but EOI follows its scan.
  bool open(ConstByteSpan data);
  void close() { is_open_ = false; }
  bool is_open() const { return is_open_; }
  const JpegGeometry& geometry() const { return header_.geometry; }
  // MCUs; 0: there are no restart markers.
  std::int64_t restart_interval() const { return header_.restart_interval; }

  // `box` is inside of the picture. RGB (gray is repeated), or one channel when `as_gray` and there
  // is one component. False: the coded data is damaged, `pixels` stays as it is.
  bool decode(const Box& box, bool as_gray, ConstImageView* pixels);
  // The same of the picture at 1 / 2^halvings (1 to 3) of its size, in which `box` is.
  bool decode_scaled(const Box& box, int halvings, bool as_gray, ConstImageView* pixels);

  std::size_t held_bytes() const;
  // Gives the memory back; closes.
  void release();

 private:
  QuantTables tables() const;
  CoefficientRow make_row(std::int64_t num_mcus);
  template <class Rows>
  bool read(Rows& rows, ConstImageView* pixels);

  FrameHeader header_;
  EntropyDecoder entropy_;
  PixelRows pixels_;
  ScaledRows scaled_;
  Scratch coefficients_, ends_;
  bool is_open_ = false;
};

}  // namespace dts
