// SPDX-License-Identifier: Apache-2.0
// What is to be done to one JPEG, for somebody else to do: where its bytes are, which part of
// it is needed, and what becomes of that part. The choices are those of SampleRunner::run().
//
//   bytes -> part of the image -> [roi of the part, scaled to the plan's size] -> flips -> erase
//
// Plain data, as it lies in a batch (torch_dts/_native/_outline.py reads it).
#pragma once

#include <cstdint>

#include "pipeline/fused_geometry.h"

namespace dts {

struct SampleOutline {
  std::int64_t address = 0;  // of the first byte; 0: there is no outline
  std::int64_t size = 0;     // bytes
  std::int64_t sample = 0;   // of the source
  std::int64_t occurrence = 0;
  std::int32_t top = 0, left = 0, height = 0, width = 0;  // the part, in pixels of the image
  // In pixels of the part, whose other pixels only the filter looks at. Where a side of the roi
  // is one of the part, the filter sees nothing beyond it.
  float roi_top = 0, roi_left = 0, roi_bottom = 0, roi_right = 0;
  std::int32_t flip_horizontal = 0, flip_vertical = 0;  // 0 or 1, of the result
  std::int32_t erase_top = 0, erase_left = 0;           // of the result; size 0: nothing
  std::int32_t erase_height = 0, erase_width = 0;
};
static_assert(sizeof(SampleOutline) == 88);

// Whether a bilinear resize of a part is all that the geometry asks for.
bool can_outline(const FusedGeometry& geometry);
// The part, the roi and the flips.
SampleOutline outline_of(const FusedGeometry& geometry);

}  // namespace dts
