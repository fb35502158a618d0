// SPDX-License-Identifier: Apache-2.0
// Decodes a box of a JPEG into RGB (or gray) with libjpeg-turbo, reading no more rows
// and columns than the box needs: pixels equal a full decode (docs/architecture.md). Of a
// file with restart markers only the segments under the box are read (jpeg/splice.h).
//
// Input: the encoded bytes, which must stay until their last decode(). Output: rows in
// memory the decoder owns, valid until its next call. One decoder per thread. Its memory
// is reused, so that nothing is allocated per image once the largest one was seen, what
// libjpeg takes and gives back for itself apart.
// libjpeg's C frames are never crossed by a C++ exception, and its error exit never
// skips a destructor; nothing is ever printed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "image/view.h"

namespace dts {

enum class DecodeStatus {
  kOk,
  kNotJpeg,      // not a JPEG, or one that only Pillow can judge: ask Pillow
  kUnsupported,  // a JPEG we don't decode ourselves (12-bit, lossless ...): ask Pillow;
                 // decode() may find this out, too
  kIncomplete,   // no EOI after the last scan: Pillow decides between picture and error
  kDamaged,      // libjpeg gave up; error() says what it said
};

struct JpegFrame {
  std::int64_t width = 0;
  std::int64_t height = 0;
  int num_components = 0;
  bool is_gray = false;  // Pillow mode L
  bool is_cmyk = false;  // Pillow mode CMYK (inverted on reading, then converted to RGB)
};

// When restart segments are cut out instead of reading the file from its start.
enum class Splicing { kNever, kWhenFaster, kWhenPossible };

class JpegDecoder {
 public:
  JpegDecoder();
  ~JpegDecoder();
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;

  // Reads the header and checks completeness. The frame is valid until the next open.
  DecodeStatus open(ConstByteSpan data);
  const JpegFrame& frame() const;

  // Decodes `box` (inside the frame) of the opened image: RGB always (gray is repeated),
  // or one channel when `as_gray` and the image is gray. Equal, byte for byte, to
  // PIL.Image.open(...).convert("RGB").crop(box).
  DecodeStatus decode(const Box& box, bool as_gray, ConstImageView* pixels);

  // Did the last decode() read only the restart segments under its box?
  bool was_spliced() const;
  // For tests and comparisons; pixels are the same. Takes effect at the next open().
  void set_splicing(Splicing when);

  // What libjpeg said last ("" after kOk).
  const std::string& error() const;
  // Bytes of memory held now; large ones are given back by shrink().
  std::size_t held_bytes() const;
  void shrink(std::size_t keep_bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dts
