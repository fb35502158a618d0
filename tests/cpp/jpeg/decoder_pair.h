// SPDX-License-Identifier: Apache-2.0
// A decoder beside one that lets libjpeg read each file from its start: status, words and
// pixels must be the same.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <utility>

#include "jpeg/decode.h"
#include "jpeg/encoder.h"

namespace dts::testing {

inline std::string pixels_in(const ConstImageView& view) {
  std::string pixels;
  for (std::int64_t y = 0; y < view.height; ++y) {
    pixels.append(reinterpret_cast<const char*>(view.row(y)),
                  static_cast<std::size_t>(view.width * view.channels));
  }
  return pixels;
}

// Two decoders side by side: one under test, and libjpeg reading files from their start.
class DecoderPair {
 public:
  explicit DecoderPair(JpegReader reader) {
    tested_.set_reader(reader);
    tested_.set_splicing(Splicing::kWhenPossible);
    plain_.set_reader(JpegReader::kLibjpeg);
    plain_.set_splicing(Splicing::kNever);
  }

  // Keeps the data until the next one.
  DecodeStatus open(Bytes data) {
    data_ = std::move(data);
    const DecodeStatus status = tested_.open(data_);
    REQUIRE(status == plain_.open(data_));
    REQUIRE(tested_.error() == plain_.error());
    REQUIRE(tested_.frame().width == plain_.frame().width);
    REQUIRE(tested_.frame().height == plain_.frame().height);
    REQUIRE(tested_.frame().num_components == plain_.frame().num_components);
    REQUIRE(tested_.frame().is_gray == plain_.frame().is_gray);
    REQUIRE(tested_.frame().is_cmyk == plain_.frame().is_cmyk);
    return status;
  }

  DecodeStatus decode(const Box& box) {
    ConstImageView view, plain_view;
    const DecodeStatus status = tested_.decode(box, false, &view);
    REQUIRE(status == plain_.decode(box, false, &plain_view));
    REQUIRE(tested_.error() == plain_.error());
    if (status != DecodeStatus::kOk) return status;
    REQUIRE(view.width == plain_view.width);
    REQUIRE(view.height == plain_view.height);
    REQUIRE((pixels_in(view) == pixels_in(plain_view)));
    ++counts_[static_cast<std::size_t>(tested_.path())];
    return status;
  }

  // Three boxes of the opened picture.
  void decode_some(std::uint64_t& state) {
    const JpegFrame& frame = plain_.frame();
    if (frame.width * frame.height > 1 << 18) return;
    for (int i = 0; i < 3; ++i) {
      Box box;
      box.top = next_random(state, static_cast<unsigned>(frame.height));
      box.left = next_random(state, static_cast<unsigned>(frame.width));
      box.height = 1 + next_random(state, static_cast<unsigned>(frame.height - box.top));
      box.width = 1 + next_random(state, static_cast<unsigned>(frame.width - box.left));
      if (decode(box) != DecodeStatus::kOk) return;
    }
  }

  // Boxes that the one under test decoded in this way.
  int count(DecodePath path) const { return counts_[static_cast<std::size_t>(path)]; }

 private:
  Bytes data_;
  JpegDecoder tested_, plain_;
  std::array<int, 3> counts_ = {};
};

}  // namespace dts::testing
