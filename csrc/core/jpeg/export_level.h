// SPDX-License-Identifier: Apache-2.0
// Export levels 1 to 3: a JPEG decoded, made smaller and encoded again, with the pixels
// that Pillow's open(), resize(), crop() and save() give (docs/format.md section 4). Only
// the rows and columns that the crop shows are decoded and resized.
//
// Input: the encoded bytes, for the time of the call. Output: memory of the exporter,
// valid until its next call. One per thread; its memory is reused.
#pragma once

#include <cstdint>

#include "base/box.h"
#include "base/bytes.h"
#include "image/resample.h"
#include "image/scratch.h"
#include "jpeg/decode.h"
#include "jpeg/encode.h"

namespace dts {

// What a level makes of a picture: resized to width x height, then cut to `window`.
struct LevelSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
  Box window;
};

// InvalidArgument: another level than 1, 2 or 3, or a side below 1.
LevelSize level_size(int level, std::int64_t width, std::int64_t height);
// Of save().
int level_quality(int level);

struct Exported {
  ConstByteSpan bytes;  // empty unless kOk
  std::int64_t width = 0;
  std::int64_t height = 0;
};

// Pixels of a picture that Pillow opens without a warning, unless told otherwise.
inline constexpr std::int64_t kPillowWarnsAbove = 89478485;

class LevelExporter {
 public:
  explicit LevelExporter(PassOrder pass_order = PassOrder::kVerticalIfShrunkMore);

  // Restart markers as choose_restart_interval() takes them; Huffman tables are made for
  // the picture. Anything but kOk: Pillow is to be asked, be it that we don't decode the
  // file, that it is CMYK, or that it has more than `max_pixels` pixels (kPillowWarnsAbove, or what
  // the user has set Pillow's limit to). InvalidArgument: a level or an interval that is none.
  DecodeStatus run(ConstByteSpan data, int level, std::int64_t restart_interval, Exported* result,
                   std::int64_t max_pixels = kPillowWarnsAbove);
  void set_checking(bool is_checking) { decoder_.set_checking(is_checking); }

 private:
  DecodeStatus make_pixels(const LevelSize& size, ConstImageView* pixels);

  JpegDecoder decoder_;
  Resampler resampler_;
  Scratch resized_;
  JpegEncoder encoder_;
};

}  // namespace dts
