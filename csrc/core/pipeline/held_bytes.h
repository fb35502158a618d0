// SPDX-License-Identifier: Apache-2.0
// The bytes of a batch whose samples somebody else decodes: where they lie must neither be
// used again nor go away before that is done.
//
// A batch holds the samples of the unit in which it ends: the unit's memory is free when all
// its batches are let go of. Samples of earlier units are copied, so that a batch never
// keeps out a unit that it waits for itself. When the stream ends while batches are
// out, the memory of its units passes to a StreamMemory, which those batches own.
//
// Thread-safe. Not to be let go of while the loader's mutex is held.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/process.h"
#include "pipeline/sample_source.h"

namespace dts {

struct LoaderShared;

// Of one stream, held by it and by its batches.
struct StreamMemory {
  std::shared_ptr<const SampleSource> source;  // its memory, too, may be what views lie in
  std::atomic<std::int64_t> num_out{0};        // batches delivered and not let go of
  std::vector<ReadMemory> kept;                // set once, when the stream ends
};

class HeldBytes {
 public:
  HeldBytes(std::weak_ptr<LoaderShared> shared, std::shared_ptr<StreamMemory> memory)
      : shared_(std::move(shared)), memory_(std::move(memory)) {}
  ~HeldBytes();
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;

  // `count` samples of the unit are released when this goes.
  void add_unit(std::int64_t unit, std::int64_t count);
  void add_copies(ReadMemory copies);
  // From here on the end of the stream must leave its memory alone.
  void deliver();

 private:
  const std::weak_ptr<LoaderShared> shared_;
  const std::shared_ptr<StreamMemory> memory_;
  const ProcessMark home_;
  std::mutex mutex_;
  bool is_out_ = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> units_;
  std::vector<ReadMemory> copies_;
};

}  // namespace dts
