// SPDX-License-Identifier: Apache-2.0
// Crops, flips and one resize of an image, collected before any pixel is looked at, so
// that only what the result depends on is decoded and resampled. The result is, in turn:
//
//   box() of the source -> flips before the resize -> resize -> window() of it -> flips after
//
// Plain arithmetic, no pixels. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "base/box.h"
#include "image/resample.h"
#include "pipeline/step_sizes.h"

namespace dts {

struct Flips {
  bool horizontal = false;
  bool vertical = false;
  bool any() const { return horizontal || vertical; }
};

// The place of `box` when the image of this size is flipped.
Box mirrored(const Box& box, const ImageSize& image, const Flips& flips);

class FusedGeometry {
 public:
  // A source whose flips are still to be done.
  explicit FusedGeometry(const ImageSize& source = {}, const Flips& flips = {});

  // Of the result so far.
  ImageSize size() const;
  // A box inside the result so far.
  void crop(const Box& box);
  // Only where can_resize(); a resize to the same size is none.
  void resize(const ImageSize& size, Filter filter);
  bool can_resize() const { return !has_resize_; }
  void flip_horizontal() { after_.horizontal = !after_.horizontal; }
  void flip_vertical() { after_.vertical = !after_.vertical; }

  // Nothing but the flips after everything else.
  bool is_whole() const;
  bool has_resize() const { return has_resize_; }
  const Box& box() const { return box_; }
  const Flips& flips_before() const { return before_; }
  const Flips& flips_after() const { return after_; }
  Filter filter() const { return filter_; }
  const ImageSize& resized() const { return resized_; }
  const Box& window() const { return window_; }

 private:
  ImageSize source_;
  Box box_;
  Flips before_, after_;
  bool has_resize_ = false;
  Filter filter_ = Filter::kBilinear;
  ImageSize resized_;
  Box window_;
};

}  // namespace dts
