// SPDX-License-Identifier: Apache-2.0
// A packed axis together with the memory that it lies in.
#pragma once

#include <cstdint>
#include <vector>

#include "image/resample_weights.h"

namespace dts::testing {

struct OwnedAxis {
  PackedAxis axis;
  std::vector<std::uint32_t> memory;

  OwnedAxis(const AxisWeights& weights, WeightLayout layout, bool aligned)
      : memory(packed_words(weights, layout)) {
    axis = pack_weights(weights, layout, aligned, memory.data());
  }
  OwnedAxis(const OwnedAxis&) = delete;
  OwnedAxis& operator=(const OwnedAxis&) = delete;
};

}  // namespace dts::testing
