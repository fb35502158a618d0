// SPDX-License-Identifier: Apache-2.0
// One worker's way through a stream: takes positions, waits until the unit of each is in
// memory and its batch is open, and runs the plan on the sample into its slot, or copies its bytes.
//
// What is shared is touched only where the worker passes from one unit or batch to the next:
// between these a sample costs no lock, no clock and no atomic operation (one where bytes are
// copied).
// One thread uses a worker; the memory of its runner is its own.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pipeline/loader_shared.h"
#include "pipeline/sample_runner.h"

namespace dts {

class LoaderWorker {
 public:
  // Takes positions first, first + stride, ...; stride 0: always the next that nobody has.
  LoaderWorker(LoaderShared& shared, WorkerCounters& counters, std::int64_t first,
               std::int64_t stride)
      : shared_(shared), counters_(counters), first_(first), stride_(stride) {}

  // Works until the stream has nothing more for this worker, is stopped, or fails. Errors
  // become the stream's; nothing is thrown.
  void run(Stream& stream) noexcept;

  // For the thread that calls next(): begins a stream, then works on positions below `end`
  // (in open batches and appended units) until they are done or `deadline_ns` is over.
  void begin(Stream& stream);
  void run_until(Stream& stream, std::int64_t end, std::int64_t deadline_ns) noexcept;
  std::int64_t position() const { return position_; }

 private:
  void take_next(Stream& stream);
  bool move_to(Stream& stream, std::int64_t position);
  bool wait_for_places(Stream& stream, std::int64_t position, std::unique_lock<std::mutex>& lock);
  bool wait_for_unit(Stream& stream, std::unique_lock<std::mutex>& lock);
  void enter_zone();
  void choose_boxes(ChoiceKey key, std::int64_t slot) const;
  void prefetch(std::size_t place) const;
  void run_sample(Stream& stream, std::int64_t position);
  DecodeStatus run_plan(const SampleView& view, const ChoiceKey& key, std::int64_t slot);
  DecodeStatus outline(const SampleView& view, const ChoiceKey& key, std::int64_t slot);
  DecodeStatus store(const SampleView& view, std::int64_t slot) const;
  void add_foreign(ForeignSample foreign, const SampleView& view);
  void hand_over_bytes();
  void leave_unit();
  void settle(Stream& stream, bool leaves_unit, bool leaves_batch);
  void leave(Stream& stream) noexcept;
  void fail(Stream& stream) noexcept;
  void pause();  // with the mutex held

  LoaderShared& shared_;
  WorkerCounters& counters_;
  const std::int64_t first_;
  const std::int64_t stride_;

  std::shared_ptr<const ViewPlans> plans_;
  std::unique_ptr<SampleRunner> runner_;   // null: bytes are copied
  std::vector<std::int64_t> image_bytes_;  // of each view

  std::int64_t position_ = 0;
  std::int64_t deadline_ns_ = BlockFeeder::kForEver;  // another: of run_until()
  bool is_working_ = false;
  std::int64_t work_began_ns_ = 0;

  std::shared_ptr<StreamUnit> unit_;
  std::span<const SampleView> views_;
  std::int64_t done_in_unit_ = 0;
  std::int64_t released_by_others_ = 0;  // of them: by the batches that hold them
  std::int64_t held_in_batch_ = 0;       // of the unit, by the present batch
  ReadMemory copies_;                    // of the present batch

  std::shared_ptr<StreamBatch> batch_;
  Zone* zone_ = nullptr;  // the batch's while this worker has something to do in it
  std::vector<std::int64_t> view_offsets_;  // where each view's images begin in it
  std::vector<void*> outs_;                 // where each view's image of the sample goes
  std::int64_t done_in_batch_ = 0;
};

}  // namespace dts
