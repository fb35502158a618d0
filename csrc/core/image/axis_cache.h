// SPDX-License-Identifier: Apache-2.0
// The packed weights of the axes used last: training sets have photos of few sizes, and a
// resize asks for the same axis when it is planned and when it runs. The cache owns the
// memory and reuses it. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/resample_weights.h"

namespace dts {

class AxisCache {
 public:
  // Units as the kernels want them, `aligned` as pack_weights() takes it.
  AxisCache(WeightLayout layout, bool aligned) : layout_(layout), aligned_(aligned) {}

  // Valid until the next call.
  const PackedAxis& get(const Axis& axis);

 private:
  struct Entry {
    Axis axis;
    std::uint64_t last_use = 0;
    PackedAxis packed;
  };
  WeightLayout layout_;
  bool aligned_;
  std::uint64_t num_uses_ = 0;
  std::vector<Entry> entries_;
  std::size_t latest_ = 0;  // the entry used last
  AxisWeights weights_;
};

}  // namespace dts
