// SPDX-License-Identifier: Apache-2.0
#include "image/axis_cache.h"

namespace dts {
namespace {

// About 5 KB each for 224 outputs; looking through the keys costs less than one output's weights.
constexpr std::size_t kMaxEntries = 64;

}  // namespace

const PackedAxis& AxisCache::get(const Axis& axis) {
  // Planning and running ask for the same axis in turn.
  if (latest_ < entries_.size() && entries_[latest_].axis == axis) return entries_[latest_].packed;
  ++num_uses_;
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (entries_[i].axis == axis) {
      entries_[i].last_use = num_uses_;
      latest_ = i;
      return entries_[i].packed;
    }
    if (entries_[i].last_use < entries_[oldest].last_use) oldest = i;
  }
  if (entries_.size() < kMaxEntries) {
    oldest = entries_.size();
    entries_.emplace_back();
  }
  Entry& entry = entries_[oldest];
  entry.axis = {};  // should computing fail, nobody may find the entry
  compute_weights(axis, &weights_);
  pack_weights(weights_, layout_, aligned_, &entry.packed);
  entry.axis = axis;
  entry.last_use = num_uses_;
  latest_ = oldest;
  return entry.packed;
}

}  // namespace dts
