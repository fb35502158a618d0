// SPDX-License-Identifier: Apache-2.0
#include "pipeline/transfer_station.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/error.h"

namespace dts {
namespace {

constexpr std::size_t kGuardBytes = 16;
constexpr std::byte kGuard{0xA5};

}  // namespace

std::size_t ZoneLayout::images_offset() const {
  const auto numbers = static_cast<std::uint64_t>(batch_size) *
                       static_cast<std::uint64_t>(2 + 4 * num_boxes) * sizeof(std::int64_t);
  return align_up(numbers, kZoneAlignment);
}

std::size_t ZoneLayout::images_bytes() const {
  const auto gaps = static_cast<std::size_t>(num_views - 1) * kZoneAlignment;
  return static_cast<std::size_t>(batch_size) * static_cast<std::size_t>(image_bytes) + gaps;
}

std::size_t ZoneLayout::total_bytes() const {
  return images_offset() + images_bytes() + kGuardBytes;
}

std::int64_t* Zone::labels() const { return reinterpret_cast<std::int64_t*>(memory_); }

std::int64_t* Zone::indices() const { return labels() + layout_.batch_size; }

std::byte* Zone::images() const { return memory_ + layout_.images_offset(); }

void Zone::write_guard() const {
  std::fill_n(memory_ + layout_.total_bytes() - kGuardBytes, kGuardBytes, kGuard);
}

bool Zone::guard_is_whole() const {
  const std::byte* const guard = memory_ + layout_.total_bytes() - kGuardBytes;
  return std::all_of(guard, guard + kGuardBytes, [](std::byte b) { return b == kGuard; });
}

std::shared_ptr<TransferStation> TransferStation::make(int max_free,
                                                       std::shared_ptr<BatchMemory> memory) {
  std::shared_ptr<TransferStation> station(new TransferStation());
  station->max_free_ = static_cast<std::size_t>(std::max(0, max_free));
  station->memory_ = memory ? std::move(memory) : std::make_shared<OrdinaryMemory>();
  // Room now, so that giving a zone back can't fail.
  station->free_.reserve(station->max_free_);
  return station;
}

TransferStation::~TransferStation() {
  for (const Zone& zone : free_) free_memory(zone);
}

void TransferStation::free_memory(const Zone& zone) noexcept {
  memory_->release(zone.memory_, zone.capacity_);
}

Zone TransferStation::take_or_make(const ZoneLayout& layout) {
  const std::size_t bytes = layout.total_bytes();
  Zone zone;
  // Now, as later nothing may fail but what is caught.
  auto sample_bytes = layout.keeps_bytes ? std::make_shared<BatchBytes>() : nullptr;
  std::vector<Zone> too_small;
  {
    const std::lock_guard lock(mutex_);
    auto best = free_.end();
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->capacity_ >= bytes && (best == free_.end() || it->capacity_ < best->capacity_)) {
        best = it;
      }
    }
    if (best != free_.end()) {
      zone = *best;
      free_.erase(best);
    } else {
      // Made for smaller batches; memory is better spent on the new ones.
      too_small = free_;
      free_.clear();
      for (const Zone& old : too_small) held_bytes_ -= old.capacity_;
      held_bytes_ += bytes;
    }
    ++num_held_;
  }
  for (const Zone& old : too_small) free_memory(old);
  if (zone.memory_ == nullptr) {
    try {
      zone.memory_ = memory_->allocate(bytes);
      zone.capacity_ = bytes;
    } catch (...) {
      const std::lock_guard lock(mutex_);
      --num_held_;
      held_bytes_ -= bytes;
      throw;
    }
  }
  if (zone.bytes_ && layout.keeps_bytes) {
    zone.bytes_->clear();
  } else {
    zone.bytes_ = std::move(sample_bytes);
  }
  zone.layout_ = layout;
  zone.write_guard();
  return zone;
}

std::shared_ptr<Zone> TransferStation::acquire(const ZoneLayout& layout) {
  constexpr std::int64_t kMaxBytes = std::numeric_limits<std::int64_t>::max() / 4;
  constexpr std::int64_t kMaxViews = 1 << 20;
  if (layout.batch_size < 1 || layout.image_bytes < 0 || layout.num_views < 1 ||
      layout.num_views > kMaxViews || layout.num_boxes < 0 || layout.num_boxes > layout.num_views ||
      layout.batch_size > kMaxBytes / (layout.image_bytes + 16 + 32 * layout.num_boxes)) {
    throw InvalidArgument("a batch of " + std::to_string(layout.batch_size) + " images of " +
                          std::to_string(layout.image_bytes) +
                          " bytes each can't be made: expected at least one image and a size "
                          "that memory can have");
  }
  // The deleter owns the zone from here on; it needs no memory of its own.
  const auto give = [station = shared_from_this()](Zone* zone) {
    station->give_back(*zone);
    delete zone;
  };
  auto held = std::make_unique<Zone>();
  *held = take_or_make(layout);
  return {held.release(), give};
}

void TransferStation::give_back(const Zone& zone) noexcept {
  if (!home_.is_here()) {
    free_memory(zone);
    return;
  }
  std::shared_ptr<const std::function<void()>> callback;
  bool is_kept = false;
  {
    const std::lock_guard lock(mutex_);
    is_kept = free_.size() < max_free_;
    if (is_kept) {
      free_.push_back(zone);
    } else {
      held_bytes_ -= zone.capacity_;
    }
    --num_held_;
    callback = on_free_;
  }
  if (!is_kept) free_memory(zone);
  if (!callback) return;
  try {
    (*callback)();
  } catch (...) {
    // Whoever let go of a tensor can't be told; the listener finds the room later.
  }
}

void TransferStation::on_free(std::function<void()> callback) {
  auto kept = callback ? std::make_shared<const std::function<void()>>(std::move(callback))
                       : std::shared_ptr<const std::function<void()>>();
  const std::lock_guard lock(mutex_);
  on_free_.swap(kept);
}

void TransferStation::trim() {
  std::vector<Zone> zones;
  {
    const std::lock_guard lock(mutex_);
    zones = free_;
    free_.clear();
    for (const Zone& zone : zones) held_bytes_ -= zone.capacity_;
  }
  for (const Zone& zone : zones) free_memory(zone);
}

int TransferStation::num_free() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(free_.size());
}

int TransferStation::num_held() const {
  const std::lock_guard lock(mutex_);
  return num_held_;
}

std::size_t TransferStation::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return held_bytes_;
}

}  // namespace dts
