// SPDX-License-Identifier: Apache-2.0
// The bookkeeping of one stream of samples (an epoch): which unit and which batch each
// position belongs to, what is open, finished, delivered, failed.
//
//   position -> (unit, place in it): which sample, where its bytes are
//            -> (batch, slot in it): where its values go
//
// Units and batches are appended at the end and dropped at the front as soon as they are
// done with, so a stream of any length needs little memory. No thread, no lock, no waiting:
// all but the atomics is guarded by the loader's mutex.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <vector>

#include "pipeline/held_bytes.h"
#include "pipeline/transfer_station.h"
#include "pipeline/view_plans.h"

namespace dts {

// A run of positions that are read together. Constant but for num_left.
struct StreamUnit {
  std::int64_t number = 0;
  std::int64_t begin = 0;  // position of its first sample
  std::vector<std::int64_t> samples;
  std::vector<std::int64_t> occurrences;  // empty: all 0
  std::int64_t num_left = 0;              // samples not finished
  std::int64_t end() const { return begin + static_cast<std::int64_t>(samples.size()); }
};

// A run of positions that are delivered together. Constant but for the last four; the
// zone's slots belong to whoever has the position.
struct StreamBatch {
  std::int64_t number = 0;
  std::int64_t begin = 0;
  std::int64_t size = 0;
  std::int64_t num_left = 0;
  std::shared_ptr<Zone> zone;  // null: not open yet, or delivered
  std::vector<std::int64_t> foreign_slots;
  std::shared_ptr<HeldBytes> held;  // of outlines, while the zone is there; null: images
  std::int64_t end() const { return begin + size; }
};

class Stream {
 public:
  Stream(std::shared_ptr<const ViewPlans> plans, std::uint64_t seed, std::uint32_t epoch)
      : plans_(std::move(plans)), seed_(seed), epoch_(epoch) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const std::shared_ptr<const ViewPlans>& plans() const { return plans_; }
  // Where what the stream has read outlives it.
  const std::shared_ptr<StreamMemory>& memory() const { return memory_; }
  std::uint64_t seed() const { return seed_; }
  std::uint32_t epoch() const { return epoch_; }

  // Without the mutex.
  std::atomic<bool> is_stopped{false};
  std::atomic<std::int64_t> next_position{0};  // for workers that take what comes next

  // Samples and occurrences of the next unit; the rest is filled in here.
  void append_unit(StreamUnit unit);
  void append_batch(std::int64_t size);
  void finish() { is_finished_ = true; }
  bool is_finished() const { return is_finished_; }
  std::int64_t units_end() const { return units_end_; }      // positions that units cover
  std::int64_t batches_end() const { return batches_end_; }  // positions that batches cover

  // Null: not appended yet. Only for positions that are not finished.
  std::shared_ptr<StreamUnit> unit_at(std::int64_t position) const;
  std::shared_ptr<StreamBatch> batch_at(std::int64_t position) const;
  // Nothing is left to do from `position` on, now and for ever.
  bool is_over_from(std::int64_t position) const;

  // Positions below this are in appended units and open batches.
  std::int64_t ready_end() const { return std::min(opened_end_, units_end_); }
  std::int64_t num_opened() const { return num_opened_; }
  std::int64_t num_delivered() const { return num_delivered_; }
  // The next batch to open; null: all appended ones are.
  StreamBatch* next_unopened() const;
  void open_next(std::shared_ptr<Zone> zone, std::shared_ptr<HeldBytes> held = nullptr);

  void finish_in_unit(StreamUnit& unit, std::int64_t count);
  // True: this made the batch complete.
  bool finish_in_batch(StreamBatch& batch, std::int64_t count);

  // The batch to deliver next; null: not appended.
  StreamBatch* front() const;
  std::shared_ptr<StreamBatch> take_front();  // complete; with its zone
  bool is_all_delivered() const;

  // Batches from `batch` on are not to come; the error of the earliest one counts.
  void fail(std::int64_t batch, std::exception_ptr error);
  std::int64_t failed_batch() const { return failed_batch_; }
  const std::exception_ptr& error() const { return error_; }

 private:
  const std::shared_ptr<const ViewPlans> plans_;
  const std::shared_ptr<StreamMemory> memory_ = std::make_shared<StreamMemory>();
  const std::uint64_t seed_;
  const std::uint32_t epoch_;

  std::deque<std::shared_ptr<StreamUnit>> units_;
  std::deque<std::shared_ptr<StreamBatch>> batches_;  // from num_delivered_ on
  std::int64_t num_units_ = 0;
  std::int64_t num_batches_ = 0;
  std::int64_t units_end_ = 0;
  std::int64_t batches_end_ = 0;
  std::int64_t num_opened_ = 0;
  std::int64_t opened_end_ = 0;
  std::int64_t num_delivered_ = 0;
  bool is_finished_ = false;
  std::int64_t failed_batch_ = std::numeric_limits<std::int64_t>::max();
  std::exception_ptr error_;
};

}  // namespace dts
