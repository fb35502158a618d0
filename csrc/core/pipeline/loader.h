// SPDX-License-Identifier: Apache-2.0
// The native loader: reads ahead (BlockFeeder), decodes in a persistent pool of threads
// with static claiming, and delivers batches in order.
//
//   append(units, batches) -> BlockFeeder -> worker j: slots j, j+M, ... -> Zone -> next()
//
// Worker j of M takes the stream's samples j, j+M, ... (reproducible), or the next one free
// (not). The values of a sample are a function of the sample and the stream's seed and epoch
// alone, so batches don't depend on the number of threads. With 0 workers next() does the work.
// Threads wait on condition variables; nothing polls and nothing is allocated per sample.
//
// One thread calls start, append, finish, next, take_foreign, stop (the consumer). stats,
// num_units_waiting and the rest may be called from any.
// A loader belongs to the process that made it: in a forked child, which has none of its
// threads, every call but num_threads throws InvalidArgument and the destructor does nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "jpeg/decode.h"
#include "pipeline/block_feeder.h"
#include "pipeline/held_bytes.h"
#include "pipeline/sample_source.h"
#include "pipeline/transfer_station.h"
#include "pipeline/view_plans.h"

namespace dts {

// What a batch holds of each sample.
enum class SampleForm {
  kImages,    // one of each view, as the plans make it
  kOutlines,  // what is to be done to a JPEG, not done (sample_outline.h); lone views only
  kBytes,     // its bytes as they are (stored_sample.h); the plans are not looked at
};

struct LoaderOptions {
  int num_workers = 1;       // 0: the thread that calls next()
  int prefetch_batches = 2;  // batches in work or ready beside the one delivered, >= 1
  bool reproducible = true;
  std::vector<int> cpus;  // what each worker is bound to; empty: to none
  SampleForm form = SampleForm::kImages;
  FeederOptions feeder;
  std::shared_ptr<BatchMemory> batch_memory;  // null: ordinary
};

// A sample that Python has to do (of outlines: one that has none; of bytes: one that could not be
// read): its place, and a copy of its bytes.
struct ForeignSample {
  std::int64_t batch = 0;  // number in the stream
  std::int64_t slot = 0;   // in the batch
  std::int64_t sample = 0;
  std::int64_t index = 0;  // for its random choices
  std::int64_t occurrence = 0;
  DecodeStatus status = DecodeStatus::kNotJpeg;
  bool is_missing = false;  // no bytes: the file could not be read
  std::vector<std::byte> bytes;
};

struct Batch {
  std::int64_t number = 0;
  std::int64_t size = 0;
  // In the place of each image a SampleOutline, or a StoredSample, where there are no images.
  std::shared_ptr<Zone> zone;
  std::shared_ptr<const ViewPlans> plans;   // by which it was made
  std::shared_ptr<HeldBytes> held;          // the bytes that outlines refer to; else null
  std::vector<std::int64_t> foreign_slots;  // their images hold anything
};

enum class NextState { kTimeout, kBatch, kEnd };

struct LoaderStats {
  std::int64_t num_samples = 0;
  // Of them, JPEGs that our own decoder read, and those of which libjpeg read only the restart
  // segments under the crop.
  std::int64_t num_own = 0;
  std::int64_t num_spliced = 0;
  std::int64_t num_batches = 0;
  std::int64_t num_foreign = 0;
  std::int64_t work_ns = 0;           // workers: decoding and after
  std::int64_t wait_for_data_ns = 0;  // workers: bytes not yet in memory
  std::int64_t wait_for_room_ns = 0;  // workers: no zone open, the consumer is behind
  std::int64_t consumer_wait_ns = 0;  // next() without a batch to give and not working itself
  FeederStats feeder;
};

class Loader {
 public:
  Loader(std::shared_ptr<const SampleSource> source, std::shared_ptr<const ViewPlans> plans,
         const LoaderOptions& options);
  ~Loader();  // stops and joins all threads
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Ends the present stream and begins another. The plans may be others; null: those
  // before. InvalidArgument: the feeder's buffers are in use; outlines of several views.
  void start(std::shared_ptr<const ViewPlans> plans, std::uint64_t seed, std::uint32_t epoch);
  // Units and batches cut the same stream in two ways; either may be ahead of the other
  // until finish(). occurrences: one per sample of the units, or empty (all 0).
  // InvalidArgument, OutOfRange: the arguments can't be used, and the stream can't go on.
  void append(std::vector<ReadUnit> units, std::span<const std::int64_t> occurrences,
              std::span<const std::int64_t> batch_sizes);
  // Nothing more will be appended. InvalidArgument: units and batches hold different numbers
  // of samples.
  void finish();
  std::int64_t num_units_waiting() const;

  // The next batch in order. Waits at most timeout_ms (without workers: works as long, at
  // least one sample). kEnd: all batches were delivered and finish() was called; without
  // finish() kTimeout. Throws what its samples' reading threw: the stream is over then, and
  // further calls throw the same; start() begins another.
  NextState next(std::int64_t timeout_ms, Batch& batch);
  // Samples for Python found since the last call, in batches delivered or in work.
  std::vector<ForeignSample> take_foreign();
  // Ends the stream: when it returns no thread works on it, batches delivered stay good, and
  // so do the bytes they hold.
  void stop();

  LoaderStats stats() const;  // since construction
  int num_threads() const;    // workers and readers
  // How often workers, or next() without workers, woke from waiting for samples or for room.
  std::int64_t num_wakeups() const;
  const TransferStation& station() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dts
