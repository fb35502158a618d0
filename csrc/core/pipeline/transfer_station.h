// SPDX-License-Identifier: Apache-2.0
// The memory of batches. A zone holds one batch,
//
//   [labels int64][indices int64][pad][images][16-byte guard]     images at a multiple of 256
//
// and is used again only when nobody holds it any more: tensors made of it keep it. The
// station outlives its zones' holders (shared ownership), and keeps a few free zones.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/bytes.h"

namespace dts {

struct ZoneLayout {
  std::int64_t batch_size = 0;
  std::int64_t image_bytes = 0;
  std::size_t images_offset() const;
  std::size_t total_bytes() const;
};

class Zone {
 public:
  std::int64_t* labels() const;
  std::int64_t* indices() const;
  std::byte* images() const;
  std::int64_t batch_size() const { return layout_.batch_size; }
  // InvalidArgument-free check for tests: the guard behind the images is untouched.
  bool guard_is_whole() const;

 private:
  friend class TransferStation;
  ZoneLayout layout_;
  std::byte* memory_ = nullptr;
  std::size_t capacity_ = 0;
};

class TransferStation : public std::enable_shared_from_this<TransferStation> {
 public:
  // `max_free`: free zones kept; further ones are given back to the system.
  static std::shared_ptr<TransferStation> make(int max_free = 3);
  ~TransferStation();

  // A zone for one batch, a free one where one is large enough. It returns to the station
  // when the last copy of the pointer is gone, from whichever thread, also after the
  // station's maker let go of it.
  std::shared_ptr<Zone> acquire(const ZoneLayout& layout);
  // Called (from any thread, holding no lock of the station) when a zone has become free;
  // null: nobody.
  void on_free(std::function<void()> callback);

  int num_free() const;
  int num_held() const;
  std::size_t held_bytes() const;

 private:
  TransferStation() = default;
  void give_back(Zone zone);

  mutable std::mutex mutex_;
  std::vector<Zone> free_;
  std::function<void()> on_free_;
  int max_free_ = 3;
  int num_held_ = 0;
  std::size_t held_bytes_ = 0;
};

}  // namespace dts
