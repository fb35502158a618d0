// SPDX-License-Identifier: Apache-2.0
// The packed weights of the axes used last: training sets have photos of few sizes, and a
// resize asks for the same axis when it is planned and when it runs. All of them lie in one
// piece of memory that goes round: the oldest make room for the newest, whatever their sizes,
// and nothing is allocated unless an axis is larger than the piece. The cache owns the memory.
// Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "image/resample_weights.h"
#include "image/scratch.h"

namespace dts {

class AxisCache {
 public:
  // Units as the kernels want them, `aligned` as pack_weights() takes it.
  AxisCache(WeightLayout layout, bool aligned) : layout_(layout), aligned_(aligned) {}

  // Valid until the next call.
  const PackedAxis& get(const Axis& axis);

  std::size_t held_bytes() const;
  // Forgets all axes and gives their memory back.
  void release();

 private:
  // Looking through the keys costs less than one output's weights.
  static constexpr std::size_t kMaxEntries = 64;
  struct Entry {
    Axis axis;  // empty: none
    PackedAxis packed;
    std::size_t begin = 0, end = 0;  // words of memory_
  };
  std::uint32_t* take(std::size_t num_words);

  WeightLayout layout_;
  bool aligned_;
  std::array<Entry, kMaxEntries> entries_;
  std::size_t latest_ = 0;  // the entry used last
  std::size_t newest_ = 0;  // the entry computed last
  Scratch memory_;
  std::size_t used_end_ = 0;  // of the newest, in words
  AxisWeights weights_;
};

}  // namespace dts
