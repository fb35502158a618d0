// SPDX-License-Identifier: Apache-2.0
// Pillow's antialiased two-pass resize of 8-bit images, byte for byte (weights in double,
// then 22-bit fixed point; one pass, rounding to 8 bits, the other pass), and its
// nearest-neighbour one. Kernels for AVX2 and AVX-512 are chosen at run time; the generic
// one gives the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "image/simd.h"
#include "image/view.h"

namespace dts {

// torchvision's InterpolationMode in Pillow's terms.
enum class Filter { kNearest, kBox, kBilinear, kHamming, kBicubic, kLanczos };

// Which pass comes first, and with it a few values, differs between versions of Pillow.
enum class PassOrder {
  kHorizontalFirst,       // Pillow before 12.2
  kVerticalIfVeryTall,    // 12.2 and 12.3: higher than 100 times the width, and shrunk
  kVerticalIfShrunkMore,  // 13: more than twice as many rows as columns go, and some do
};

// What of a source becomes the output, where its edges lie between pixels: an output's place is
// counted from here, what lies beyond is still read, as Pillow's resize does with its `box`.
struct SourcePart {
  double left = 0, top = 0;
  double width = 0, height = 0;  // 0: all of the source
  bool operator==(const SourcePart&) const = default;
};

// One resize, planned: `out` = window of the image that resizing source (source_width x
// source_height) to (out_width x out_height) would give. Only the source box that the
// window depends on is needed; its pixels are passed to run().
struct ResamplePlan {
  Filter filter = Filter::kBilinear;
  std::int64_t source_width = 0, source_height = 0;
  std::int64_t out_width = 0, out_height = 0;
  Box window;      // in output pixels
  Box source_box;  // in source pixels, filled in by plan()
  SourcePart part;
};

// Memory (weights and the rows between the passes) is the resampler's and used again: it grows
// with the largest sizes, whichever others come between. One resampler per thread.
class Resampler {
 public:
  // InvalidArgument: a level that this CPU lacks.
  explicit Resampler(SimdLevel level = best_simd_level(),
                     PassOrder pass_order = PassOrder::kVerticalIfShrunkMore);
  ~Resampler();
  Resampler(const Resampler&) = delete;
  Resampler& operator=(const Resampler&) = delete;

  // Computes source_box; keeps the weights for run() and later plans of the same sizes.
  // InvalidArgument: sizes < 1 or > 2^24, a window that is empty or outside of the output, a
  // part that is not inside of the source, or one for kNearest.
  ResamplePlan plan(Filter filter, std::int64_t source_width, std::int64_t source_height,
                    std::int64_t out_width, std::int64_t out_height, const Box& window,
                    const SourcePart& part = {});

  // `source`: the pixels of plan.source_box, 1 or 3 channels. `out`: window-sized, not
  // overlapping the source. Reads and writes no byte outside of the views' pixels.
  // InvalidArgument: views that do not fit the plan.
  void run(const ResamplePlan& plan, const ConstImageView& source, const ImageView& out);

  std::size_t held_bytes() const;
  // Gives all memory back; plans stay good.
  void release();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dts
