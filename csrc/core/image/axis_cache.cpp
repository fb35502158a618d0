// SPDX-License-Identifier: Apache-2.0
#include "image/axis_cache.h"

#include <algorithm>

namespace dts {
namespace {

// An axis of 224 outputs has 5 to 15 KB; this much stays in the second cache.
constexpr std::size_t kMemoryBytes = std::size_t{256} << 10;

}  // namespace

const PackedAxis& AxisCache::get(const Axis& axis) {
  // Planning and running ask for the same axis in turn.
  if (entries_[latest_].axis == axis) return entries_[latest_].packed;
  for (std::size_t i = 0; i < kMaxEntries; ++i) {
    if (entries_[i].axis == axis) {
      latest_ = i;
      return entries_[i].packed;
    }
  }
  compute_weights(axis, &weights_);
  std::uint32_t* const words = take(packed_words(weights_, layout_));
  newest_ = (newest_ + 1) % kMaxEntries;
  Entry& entry = entries_[newest_];
  entry.packed = pack_weights(weights_, layout_, aligned_, words);
  entry.begin = used_end_;
  used_end_ += 2 * entry.packed.first.size() + entry.packed.words.size();
  entry.end = used_end_;
  entry.axis = axis;
  latest_ = newest_;
  return entry.packed;
}

// Words behind the newest entry's, or the first ones; whoever has any of them is forgotten.
std::uint32_t* AxisCache::take(std::size_t num_words) {
  const std::size_t num_bytes = num_words * sizeof(std::uint32_t);
  if (num_bytes > memory_.bytes()) {
    for (Entry& entry : entries_) entry = {};
    used_end_ = 0;
    memory_.get(std::max(num_bytes, kMemoryBytes));
  }
  if (used_end_ + num_words > memory_.bytes() / sizeof(std::uint32_t)) used_end_ = 0;
  const std::size_t end = used_end_ + num_words;
  for (Entry& entry : entries_) {
    if (entry.begin < end && entry.end > used_end_) entry = {};
  }
  return reinterpret_cast<std::uint32_t*>(memory_.get(num_bytes)) + used_end_;
}

std::size_t AxisCache::held_bytes() const {
  const std::size_t numbers =
      weights_.first.capacity() + weights_.num_taps.capacity() + weights_.weights.capacity();
  return memory_.bytes() + numbers * sizeof(std::int32_t) +
         weights_.exact.capacity() * sizeof(double);
}

void AxisCache::release() {
  for (Entry& entry : entries_) entry = {};
  memory_.release();
  used_end_ = 0;
  weights_ = {};
}

}  // namespace dts
