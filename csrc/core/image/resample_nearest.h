// SPDX-License-Identifier: Apache-2.0
// Pillow's nearest-neighbour resize: which pixel each output takes. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "image/resample_weights.h"
#include "image/view.h"

namespace dts {

// By output of the axis: the source pixel, never decreasing.
void nearest_positions(const Axis& axis, std::vector<std::int32_t>* out);

// Each pixel of `out` from the source's row rows[y] - top and column columns[x] - left.
void copy_nearest(const ConstImageView& source, const std::vector<std::int32_t>& rows,
                  std::int64_t top, const std::vector<std::int32_t>& columns, std::int64_t left,
                  const ImageView& out);

}  // namespace dts
