// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stream.h"

#include <algorithm>
#include <utility>

namespace dts {
namespace {

// The run that `position` is in. `runs` is sorted by position and without gaps.
template <class Run>
std::shared_ptr<Run> run_at(const std::deque<std::shared_ptr<Run>>& runs, std::int64_t position) {
  const auto found = std::partition_point(runs.begin(), runs.end(),
                                          [&](const auto& run) { return run->end() <= position; });
  return found == runs.end() ? nullptr : *found;
}

}  // namespace

void Stream::append_unit(StreamUnit unit) {
  unit.number = num_units_;
  unit.begin = units_end_;
  unit.num_left = static_cast<std::int64_t>(unit.samples.size());
  units_.push_back(std::make_shared<StreamUnit>(std::move(unit)));
  units_end_ = units_.back()->end();
  ++num_units_;
}

void Stream::append_batch(std::int64_t size) {
  auto batch = std::make_shared<StreamBatch>();
  batch->number = num_batches_;
  batch->begin = batches_end_;
  batch->size = size;
  batch->num_left = size;
  batches_end_ = batch->end();
  batches_.push_back(std::move(batch));
  ++num_batches_;
}

std::shared_ptr<StreamUnit> Stream::unit_at(std::int64_t position) const {
  return run_at(units_, position);
}

std::shared_ptr<StreamBatch> Stream::batch_at(std::int64_t position) const {
  return run_at(batches_, position);
}

bool Stream::is_over_from(std::int64_t position) const {
  if (is_stopped.load(std::memory_order_relaxed)) return true;
  if (error_) {
    // Batches before the failed one are still to be made.
    const auto batch = batch_at(position);
    return !batch || batch->number >= failed_batch_;
  }
  return is_finished_ && position >= units_end_;
}

StreamBatch* Stream::next_unopened() const {
  const std::int64_t at = num_opened_ - num_delivered_;
  return at < static_cast<std::int64_t>(batches_.size())
             ? batches_[static_cast<std::size_t>(at)].get()
             : nullptr;
}

void Stream::open_next(std::shared_ptr<Zone> zone, std::shared_ptr<HeldBytes> held) {
  StreamBatch* const batch = next_unopened();
  batch->zone = std::move(zone);
  batch->held = std::move(held);
  opened_end_ = batch->end();
  ++num_opened_;
}

void Stream::finish_in_unit(StreamUnit& unit, std::int64_t count) {
  unit.num_left -= count;
  while (!units_.empty() && units_.front()->num_left == 0) units_.pop_front();
}

bool Stream::finish_in_batch(StreamBatch& batch, std::int64_t count) {
  batch.num_left -= count;
  return batch.num_left == 0;
}

StreamBatch* Stream::front() const { return batches_.empty() ? nullptr : batches_.front().get(); }

std::shared_ptr<StreamBatch> Stream::take_front() {
  auto batch = std::move(batches_.front());
  batches_.pop_front();
  ++num_delivered_;
  std::sort(batch->foreign_slots.begin(), batch->foreign_slots.end());
  return batch;
}

bool Stream::is_all_delivered() const { return is_finished_ && batches_.empty(); }

void Stream::fail(std::int64_t batch, std::exception_ptr error) {
  if (batch >= failed_batch_) return;
  failed_batch_ = batch;
  error_ = std::move(error);
}

}  // namespace dts
