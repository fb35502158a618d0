// SPDX-License-Identifier: Apache-2.0
// FULLY mode's memory: the whole payload of a source, filled block by block, each once. For
// a .dts file there is one store per node and user, whatever the number of processes
// (shared_store.h). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "pipeline/sample_source.h"

namespace dts {

class BlockStore {
 public:
  virtual ~BlockStore() = default;

  // What block `block` holds where it is complete; empty otherwise. It stays there, unchanged,
  // as long as the store lives. OutOfRange.
  virtual ConstByteSpan find(std::int64_t block) = 0;
  // Makes the block complete: reads it, or waits for whoever (thread or process) is reading
  // it at the moment, taking over from one that died. Throws what reading throws; the block
  // stays absent then. Empty only where `reader` is stopped.
  virtual ConstByteSpan load(std::int64_t block, const SampleSource& source, bool check,
                             ReaderState& reader) = 0;
  // The next block nobody has begun, -1: none is left. Each call gives another one, so that
  // threads share the work. A block whose reading failed comes again later.
  virtual std::int64_t next_absent() = 0;

  virtual bool is_complete() = 0;
  virtual bool is_shared() const = 0;  // other processes may have it mapped
  virtual std::int64_t num_held_blocks() const = 0;
  virtual std::int64_t held_bytes() const = 0;
};

// A store of this process's own. Memory is taken block by block; std::bad_alloc from load().
std::shared_ptr<BlockStore> make_private_store(std::int64_t num_blocks, std::int64_t block_bytes);

}  // namespace dts
