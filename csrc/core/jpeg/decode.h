// SPDX-License-Identifier: Apache-2.0
// Decodes a box of a JPEG into RGB (or gray), reading no more rows and columns than the box
// needs: pixels equal a full decode (docs/architecture.md). Usual baseline files are read by
// our own decoder (jpeg/crop_decoder.h), all others, and what it gives up on, by libjpeg-turbo; of
// a file with restart markers only the segments under the box (jpeg/splice.h).
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
#include <span>
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

// Who reads the codes: libjpeg, or our own decoder where it can. kAuto: ours, but on a CPU for
// which it has no vector kernels (there libjpeg, which has some, is faster).
enum class JpegReader { kAuto, kLibjpeg, kOwn };

// What decoded a picture: libjpeg the whole file or only the restart segments under the box, or our
// own decoder.
enum class DecodePath { kLibjpeg, kSpliced, kOwn };

// When libjpeg gets restart segments that were cut out instead of the file from its start.
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
  // A box of the image at 1 / 2^halvings (1 to 3) of its size: sides are scaled_side() of the
  // frame's (jpeg/image_box.h). Near to what an antialiased resize gives; our own decoder and
  // libjpeg differ in a few levels, and nothing is checked against the other.
  DecodeStatus decode_scaled(const Box& box, int halvings, bool as_gray, ConstImageView* pixels);

  // Of the opened image: whether decoding boxes one by one is quicker than decoding `around`, which
  // holds them all. False where libjpeg decodes it.
  bool is_quicker_alone(std::span<const Box> boxes, const Box& around) const;

  // How the last decode() was done.
  DecodePath path() const;
  // These take effect at the next open(); pixels are the same.
  void set_reader(JpegReader reader);
  void set_splicing(Splicing when);
  // Whatever our own decoder gives is decoded by libjpeg, too, and compared: std::logic_error,
  // which names both, where they differ.
  void set_checking(bool is_checking);

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
