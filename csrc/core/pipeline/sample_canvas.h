// SPDX-License-Identifier: Apache-2.0
// One image while a plan is done to it. Crops, flips and a resize are only collected
// (fused_geometry.h) until an operation needs pixels; then what they depend on is decoded
// and resampled. Flips stay open as long as possible: most operations give the same result
// before and after them, and the tail flips for nothing.
//
// Several results of one encoded image: survey() each of them up to the first operation
// that needs pixels, decode_surveyed() once, then rewind() and do each of them.
//
// Input: encoded bytes or pixels of the caller, which must stay until the next open().
// Output: views of memory that the canvas or the caller owns, valid until the next call.
// Memory is used again, and grows with the largest image. One canvas per thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "image/pad.h"
#include "image/resample.h"
#include "image/scratch.h"
#include "image/view.h"
#include "jpeg/decode.h"
#include "pipeline/fused_geometry.h"

namespace dts {

class SampleCanvas {
 public:
  // `is_fast`: JPEGs that a resize makes smaller anyway may be decoded at 1/2, 1/4 or 1/8.
  explicit SampleCanvas(PassOrder pass_order, bool is_fast = false);

  // Reads the header; kUnsupported where the image has more than max_pixels (0: any
  // number). RGB from here on, but one channel where `keep_gray` and the image is gray.
  DecodeStatus open(ConstByteSpan encoded, std::int64_t max_pixels, bool keep_gray = false);
  // kUnsupported: an image without pixels. One channel becomes RGB where `channels` is 3.
  DecodeStatus open(const ConstImageView& pixels, std::int64_t channels);

  // The image as it was opened, for another result of it. Views that were handed out before
  // are no longer valid.
  void rewind();
  // As rewind(); from here on nothing is decoded: what needs pixels returns kUnsupported, and
  // has_surveyed() is true. Only after open() of an encoded image.
  void survey();
  bool is_encoded() const { return was_encoded_; }
  bool has_surveyed() const { return has_surveyed_; }
  // Decodes, once, all that the surveyed results need; results that are begun by rewind() take
  // their pixels from it. Does nothing where it is quicker that each decodes its own, as with small
  // boxes far apart.
  DecodeStatus decode_surveyed();

  ImageSize size() const { return geometry_.size(); }
  // What is to be done to the encoded image so far; null once something needed its pixels. Only
  // between survey() and the next rewind().
  const FusedGeometry* surveyed_geometry() const {
    return is_surveying_ && is_encoded_ && !has_surveyed_ ? &geometry_ : nullptr;
  }
  std::int64_t channels() const { return channels_; }

  void crop(const Box& box) { geometry_.crop(box); }  // inside the image
  void flip_horizontal() { geometry_.flip_horizontal(); }
  void flip_vertical() { geometry_.flip_vertical(); }
  // All of these return what decoding said, or kUnsupported for a size that can't be held.
  DecodeStatus resize(const ImageSize& size, Filter filter);
  // left, top, right, bottom; negative: cut off.
  DecodeStatus pad(std::array<std::int64_t, 4> padding, PadMode mode,
                   std::span<const std::uint8_t> fill);
  // The pixels, which may be changed in place. Flips may be open still.
  DecodeStatus edit(ImageView* pixels);
  // As edit, without open flips.
  DecodeStatus edit_upright(ImageView* pixels);
  // An image of the same size to write the next state into; `pixels` is the present one.
  DecodeStatus replace(std::int64_t channels, ConstImageView* pixels, ImageView* next);
  // The result. Rows may be in any order in memory (the stride may be negative), and
  // columns are to be exchanged where *flip.
  DecodeStatus finish(ConstImageView* pixels, bool* flip);

  // Why the last call did not return kOk.
  const std::string& error() const { return error_; }
  DecodeStatus refuse(const std::string& reason);

  // Memory for operations that need some.
  Scratch& spare() { return spare_; }
  // How the last encoded image was decoded.
  DecodePath path() const { return decoder_.path(); }
  void set_reader(JpegReader reader, bool is_checking) {
    decoder_.set_reader(reader);
    decoder_.set_checking(is_checking);
  }
  std::size_t held_bytes() const;
  void shrink(std::size_t keep_bytes);

 private:
  DecodeStatus fetch();
  DecodeStatus fetch_resized();
  DecodeStatus read(const Box& box, ConstImageView* part);
  DecodeStatus read_scaled(const Box& box, int halvings, ConstImageView* part);
  int halvings() const;
  void survey(const Box& box);
  DecodeStatus repeat_gray(ConstImageView* part);
  DecodeStatus own(const ConstImageView& pixels);
  DecodeStatus take(std::int64_t height, std::int64_t width, std::int64_t channels,
                    ImageView* next);
  ImageView owned() const;
  void apply(const Flips& flips);
  void hold(const ImageView& pixels, const Flips& open_flips);

  bool is_fast_;
  JpegDecoder decoder_;
  Resampler resampler_;
  std::array<Scratch, 2> memory_;  // the present state and the next, in turn
  Scratch spare_;
  std::string error_;

  ConstImageView opened_;  // pixels as they were opened; encoded: none
  std::int64_t opened_channels_ = 0;
  ImageSize opened_size_;
  bool was_encoded_ = false;

  bool is_surveying_ = false;
  bool has_surveyed_ = false;        // the present result
  Box surveyed_;                     // around what all of them need; of no size: nothing yet
  std::vector<Box> surveyed_boxes_;  // what each of them needs
  int surveyed_halvings_ = 0;        // as far as all of them allow
  Box decoded_box_;                  // in the picture of that size
  ConstImageView decoded_;           // its pixels; none: each result decodes its own

  bool is_encoded_ = false;  // not decoded yet
  ConstImageView pixels_;    // what geometry_ is to be done to, once decoded
  int slot_ = -1;            // where in memory_ pixels_ lies; -1: it is not ours to change
  std::int64_t channels_ = 0;
  FusedGeometry geometry_;
};

}  // namespace dts
