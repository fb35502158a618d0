// SPDX-License-Identifier: Apache-2.0
// What the parts of one loader share: the thread that consumes, the workers, and whoever
// lets go of a delivered batch. Everything is guarded by `mutex` but the counters and what
// never changes. Lock order: this mutex, then the feeder's or the station's.
//
// stop() in steps: is_stopped is set; workers finish the sample in hand and leave the state
// "working" (only there may they touch views of the feeder or a zone); the feeder is
// stopped, which wakes those that wait for it; all leave the stream.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/process.h"
#include "pipeline/block_feeder.h"
#include "pipeline/loader.h"
#include "pipeline/sample_source.h"
#include "pipeline/stream.h"
#include "pipeline/transfer_station.h"

namespace dts {

// Written by one worker, read by anyone.
struct alignas(64) WorkerCounters {
  std::atomic<std::int64_t> num_samples{0};
  std::atomic<std::int64_t> num_own{0};
  std::atomic<std::int64_t> num_spliced{0};
  std::atomic<std::int64_t> work_ns{0};
  std::atomic<std::int64_t> wait_for_data_ns{0};
  std::atomic<std::int64_t> wait_for_room_ns{0};
  std::atomic<std::int64_t> num_wakeups{0};

  static void add(std::atomic<std::int64_t>& counter, std::int64_t value) {
    counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
  }
};

// Where a worker waits for the unit and the batch of one position. With the loader's mutex held.
class WorkerSeat {
 public:
  void wait(std::int64_t position, std::unique_lock<std::mutex>& lock) {
    position_ = position;
    wake_.wait(lock);
    position_ = -1;
  }
  // Where somebody waits for a position below `end`.
  void wake_below(std::int64_t end) {
    if (position_ < 0 || position_ >= end) return;
    position_ = -1;
    wake_.notify_one();
  }

 private:
  std::condition_variable wake_;
  std::int64_t position_ = -1;
};

std::int64_t steady_ns();

struct LoaderShared : std::enable_shared_from_this<LoaderShared> {
  LoaderShared(std::shared_ptr<const SampleSource> source, const LoaderOptions& options);

  const std::shared_ptr<const SampleSource> source;
  const LoaderOptions options;
  const ProcessMark home;
  const std::shared_ptr<TransferStation> station;
  BlockFeeder feeder;
  std::vector<WorkerCounters> counters;  // one per worker; one for next() without workers

  mutable std::mutex mutex;
  std::vector<WorkerSeat> seats;         // as counters; each is woken when it has something to do
  std::condition_variable work_ready;    // workers without a stream: a stream, the end
  std::condition_variable batch_ready;   // the consumer
  std::condition_variable workers_left;  // stop()

  std::shared_ptr<Stream> stream;  // null: none
  bool is_closing = false;         // threads are to end
  int num_in_stream = 0;           // workers that hold the stream
  int num_working = 0;             // of these, those inside of a sample or between two
  std::vector<ForeignSample> foreign;
  std::int64_t num_batches = 0;
  std::int64_t num_foreign = 0;
  std::int64_t consumer_wait_ns = 0;

  // What a batch holds of one sample.
  std::int64_t slot_bytes(const ViewPlans& plans) const;
  // Memory for a batch of so many samples.
  std::shared_ptr<Zone> acquire_zone(const ViewPlans& plans, std::int64_t batch_size) const;
  // With the mutex held. Opens batches as far as the rules allow: as many as
  // options.prefetch_batches beside those delivered; where the consumer keeps more than one
  // delivered batch only `for_next`, so that one who keeps all of them still gets the next.
  void open_ahead(bool for_next);
  // With the mutex held: wakes the workers whose position can be worked on now, or all.
  void wake_ready();
  void wake_all();
  // The station's listener.
  void on_zone_free();
  // With the mutex held: from this batch on nothing comes but the error.
  void fail(Stream& of, std::int64_t batch, std::exception_ptr error);
};

}  // namespace dts
