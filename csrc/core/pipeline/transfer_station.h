// SPDX-License-Identifier: Apache-2.0
// The memory of batches. A zone holds one batch,
//
//   [labels int64][indices int64][boxes][pad][images][16-byte guard]   images at a multiple of 256
//
// (of several views: those of view 0, pad to 256, those of view 1, ...; boxes, where there are
// any: four int64 of each sample of view 0, of view 1, ...),
//
// has, where bytes of any size are to lie beside these, a BatchBytes,
// and is used again only when nobody holds it any more: tensors made of it keep it. The
// station outlives its zones' holders (shared ownership), and keeps a few free zones.
// Thread-safe. In a forked child a zone that is let go of is simply freed there: the
// station's lock may be held by a thread that does not exist in the child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"
#include "base/pinned_memory.h"
#include "base/process.h"
#include "pipeline/batch_bytes.h"

namespace dts {

// Images of a zone, and those of each view, begin at a multiple of this.
inline constexpr std::size_t kZoneAlignment = 256;

struct ZoneLayout {
  std::int64_t batch_size = 0;
  std::int64_t image_bytes = 0;  // of one sample, all views together
  std::int64_t num_views = 1;
  std::int64_t num_boxes = 0;  // of one sample: 0, or one for each view
  bool keeps_bytes = false;    // there is a BatchBytes
  // What the images may take, with the room between views.
  std::size_t images_bytes() const;
  std::size_t images_offset() const;
  std::size_t total_bytes() const;
  bool operator==(const ZoneLayout&) const = default;
};

class Zone {
 public:
  std::int64_t* labels() const;
  std::int64_t* indices() const;
  // top, left, height, width of each sample.
  std::int64_t* boxes(std::int64_t view) const { return labels() + batch_size() * (2 + 4 * view); }
  std::byte* images() const;
  // Empty when the zone was acquired; null: the layout asks for none.
  BatchBytes* bytes() const { return bytes_.get(); }
  // From the labels to the end of the images.
  std::byte* memory() const { return memory_; }
  std::size_t memory_bytes() const { return layout_.images_offset() + layout_.images_bytes(); }
  std::size_t images_offset() const { return layout_.images_offset(); }
  std::int64_t num_boxes() const { return layout_.num_boxes; }
  std::int64_t batch_size() const { return layout_.batch_size; }
  std::int64_t image_bytes() const { return layout_.image_bytes; }
  // Whether the guard behind the images is as it was.
  bool guard_is_whole() const;

 private:
  friend class TransferStation;
  void write_guard() const;

  ZoneLayout layout_;
  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0;
  std::shared_ptr<BatchBytes> bytes_;
};

class TransferStation : public std::enable_shared_from_this<TransferStation> {
 public:
  // `max_free`: free zones kept; further ones are given back to `memory` (null: ordinary).
  static std::shared_ptr<TransferStation> make(int max_free = 3,
                                               std::shared_ptr<BatchMemory> memory = nullptr);
  ~TransferStation();
  TransferStation(const TransferStation&) = delete;
  TransferStation& operator=(const TransferStation&) = delete;

  // A zone for one batch, a free one where one is large enough (its old content is still in
  // it). It returns to the station when the last copy of the pointer is gone, from whichever
  // thread, also after the station's maker let go of it. InvalidArgument: a batch whose
  // bytes can't be counted.
  std::shared_ptr<Zone> acquire(const ZoneLayout& layout);
  // Called (from any thread, holding no lock of the station) when a zone has become free;
  // null: nobody. What it throws is lost.
  void on_free(std::function<void()> callback);
  // Gives the free zones back to the system.
  void trim();

  int num_free() const;
  int num_held() const;
  // Of all zones, free ones too; without what is in a BatchBytes.
  std::size_t held_bytes() const;

 private:
  TransferStation() = default;
  void give_back(const Zone& zone) noexcept;
  void free_memory(const Zone& zone) noexcept;
  Zone take_or_make(const ZoneLayout& layout);

  mutable std::mutex mutex_;
  std::vector<Zone> free_;
  std::shared_ptr<const std::function<void()>> on_free_;
  std::size_t max_free_ = 3;
  std::shared_ptr<BatchMemory> memory_;
  const ProcessMark home_;
  int num_held_ = 0;
  std::size_t held_bytes_ = 0;
};

}  // namespace dts
