// SPDX-License-Identifier: Apache-2.0
#include "pipeline/held_bytes.h"

#include "base/error.h"
#include "pipeline/loader_shared.h"

namespace dts {

HeldBytes::~HeldBytes() {
  // In a forked child the locks may be held by threads that aren't there.
  if (!home_.is_here()) return;
  if (const std::shared_ptr<LoaderShared> shared = shared_.lock()) {
    const std::lock_guard lock(shared->mutex);
    // Of a later stream the units have the same numbers.
    if (shared->stream && shared->stream->memory() == memory_) {
      for (const auto& [unit, count] : units_) {
        try {
          shared->feeder.release(unit, count);
        } catch (const InvalidArgument&) {
          // The unit failed and is never read: nobody waits for its memory.
        }
      }
    }
  }
  if (is_out_) --memory_->num_out;
}

void HeldBytes::add_unit(std::int64_t unit, std::int64_t count) {
  const std::lock_guard lock(mutex_);
  units_.emplace_back(unit, count);
}

void HeldBytes::add_copies(ReadMemory copies) {
  const std::lock_guard lock(mutex_);
  copies_.push_back(std::move(copies));
}

void HeldBytes::deliver() {
  const std::lock_guard lock(mutex_);
  is_out_ = true;
  ++memory_->num_out;
}

}  // namespace dts
