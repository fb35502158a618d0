// SPDX-License-Identifier: Apache-2.0
#include "pipeline/loader_shared.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <utility>

#include "pipeline/sample_outline.h"
#include "pipeline/stored_sample.h"

namespace dts {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

LoaderShared::LoaderShared(std::shared_ptr<const SampleSource> source_,
                           const LoaderOptions& options_)
    : source(std::move(source_)),
      options(options_),
      station(TransferStation::make(options_.prefetch_batches + 1, options_.batch_memory)),
      feeder(source, options_.feeder),
      counters(static_cast<std::size_t>(std::max(1, options_.num_workers))),
      seats(counters.size()) {}

std::int64_t LoaderShared::slot_bytes(const ViewPlans& plans) const {
  switch (options.form) {
    case SampleForm::kOutlines:
      return sizeof(SampleOutline);
    case SampleForm::kBytes:
      return sizeof(StoredSample);
    case SampleForm::kImages:
      break;
  }
  return plans.image_bytes();
}

std::shared_ptr<Zone> LoaderShared::acquire_zone(const ViewPlans& plans,
                                                 std::int64_t batch_size) const {
  ZoneLayout layout;
  layout.batch_size = batch_size;
  layout.image_bytes = slot_bytes(plans);
  if (options.form == SampleForm::kImages) {
    layout.num_views = plans.num_views();
    layout.num_boxes = plans.num_boxes();
  }
  layout.keeps_bytes = options.form == SampleForm::kBytes;
  return station->acquire(layout);
}

void LoaderShared::open_ahead(bool for_next) {
  if (!stream) return;
  while (stream->num_opened() - stream->num_delivered() < options.prefetch_batches) {
    const StreamBatch* const next = stream->next_unopened();
    if (next == nullptr || next->number >= stream->failed_batch()) break;
    const bool is_first = stream->num_delivered() == 0;
    if (!for_next && !is_first && station->num_held() > options.prefetch_batches) break;
    try {
      // First, as it may fail: bytes that are let go of here would wait for the mutex.
      std::shared_ptr<Zone> zone = acquire_zone(*stream->plans(), next->size);
      std::shared_ptr<HeldBytes> held;
      if (options.form == SampleForm::kOutlines) {
        held = std::make_shared<HeldBytes>(weak_from_this(), stream->memory());
      }
      stream->open_next(std::move(zone), std::move(held));
    } catch (const std::bad_alloc&) {
      // Without room to read ahead there may still be room for one batch after the other.
      if (for_next && next == stream->front()) throw;
      break;
    }
  }
  wake_ready();
}

void LoaderShared::wake_ready() {
  for (WorkerSeat& seat : seats) seat.wake_below(stream->ready_end());
}

void LoaderShared::wake_all() {
  for (WorkerSeat& seat : seats) seat.wake_below(std::numeric_limits<std::int64_t>::max());
}

void LoaderShared::on_zone_free() {
  const std::lock_guard lock(mutex);
  open_ahead(false);
}

void LoaderShared::fail(Stream& of, std::int64_t batch, std::exception_ptr error) {
  of.fail(batch, std::move(error));
  wake_all();
  batch_ready.notify_all();
}

}  // namespace dts
