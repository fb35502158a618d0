// SPDX-License-Identifier: Apache-2.0
// Pixels to JPEG as Pillow's save() does by default: baseline, 4:2:0 for colour, the
// quantisation tables of a quality, a JFIF header. Restart markers and Huffman tables
// made for the picture change the bytes and not the pixels; without the two the bytes
// are Pillow's own.
//
// Input: pixels in the caller's memory, for the time of the call. Output: memory of the
// encoder, valid until its next call. One per thread; its memory is reused, libjpeg's own
// apart.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "image/view.h"
#include "jpeg/libjpeg_compressor.h"

namespace dts {

struct EncodeOptions {
  int quality = 75;                    // 1 to 100
  std::int64_t restart_interval = -1;  // as choose_restart_interval() takes it
  bool optimize_tables = false;
};

class JpegEncoder {
 public:
  // `pixels`: RGB or gray, 1 to 65500 a side. InvalidArgument: other pixels or options.
  // std::bad_alloc: no memory.
  ConstByteSpan encode(const ConstImageView& pixels, const EncodeOptions& options);

  std::size_t held_bytes() const { return session_.held_bytes(); }
  void shrink(std::size_t keep_bytes) { session_.shrink(keep_bytes); }

 private:
  LibjpegCompressor session_;
};

}  // namespace dts
