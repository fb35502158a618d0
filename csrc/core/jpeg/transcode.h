// SPDX-License-Identifier: Apache-2.0
// A JPEG written anew without loss: the same DCT coefficients and quantisation tables in
// one sequential scan, with Huffman tables made for it and, where asked for, restart
// markers, so that a crop can be decoded from the segments under it (docs/format.md).
//
// Nothing is lost by accident: the result is read again, and either all that pixels are made
// of is found the same, or pixels of all components are decoded from both and compared;
// whatever is unusual is refused, and the caller then keeps the original bytes.
//
// Input: the encoded bytes, for the time of the call. Output: memory of the transcoder,
// valid until its next call. One per thread; its memory is reused, libjpeg's own apart.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"

namespace dts {

enum class TranscodeStatus {
  kDone,
  kNotJpeg,      // not a JPEG, or one that only Pillow can judge
  kUnsupported,  // not 8-bit Huffman with 1, 3 or 4 components, or not possible in one scan
  kIncomplete,   // no EOI after the last scan, or a progressive picture without its last scans
  kDamaged,      // libjpeg gave up or warned
  kDiffers,      // the pixels of the result are not the original's
  kTooLarge,     // more pixels than Pillow opens
  kTrailing,     // all metadata was to be kept, but there are bytes behind the picture
};

struct TranscodeOptions {
  // MCUs, or kAutoRestartInterval or kNoRestartMarkers (restart_interval.h).
  std::int64_t restart_interval = 0;
  // All APPn and COM. Else APP0, APP14, ICC profile and the orientation alone.
  bool keep_metadata = false;
};

struct Transcoded {
  ConstByteSpan bytes;  // empty unless kDone
  // Segments left out or cut down, and how many bytes fewer that makes; bytes behind the
  // picture count as one segment.
  std::int64_t num_dropped = 0;
  std::int64_t dropped_bytes = 0;
};

class JpegTranscoder {
 public:
  JpegTranscoder();
  ~JpegTranscoder();
  JpegTranscoder(const JpegTranscoder&) = delete;
  JpegTranscoder& operator=(const JpegTranscoder&) = delete;

  // InvalidArgument: an interval that is none. std::bad_alloc: no memory.
  TranscodeStatus run(ConstByteSpan data, const TranscodeOptions& options, Transcoded* result);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dts
