// SPDX-License-Identifier: Apache-2.0
// FULLY mode's memory: the whole payload of a source, filled block by block (or, without
// blocks, sample by sample), each once. For a .dts file there is one store per node and
// user, whatever the number of processes: a memfd, sealed against resizing, that is handed
// over an abstract unix socket named by the file's fingerprint and the user id. Nothing has
// a name in a file system, so nothing is left after a kill -9, and no one can cut it off.
// Thread-safe.
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

  // What block `block` holds where it is complete; empty otherwise.
  virtual ConstByteSpan find(std::int64_t block) = 0;
  // Makes the block complete: reads it, or waits for whoever (thread or process) is reading
  // it at the moment, taking over from one that died. Throws what reading throws; the block
  // stays absent then.
  virtual ConstByteSpan load(std::int64_t block, const SampleSource& source, bool check,
                             ReaderState& reader) = 0;
  // The next block nobody has begun, -1: none is left. Fills the store beside other work.
  virtual std::int64_t next_absent() = 0;

  virtual bool is_complete() const = 0;
  virtual bool is_shared() const = 0;      // other processes may have it mapped
  virtual std::int64_t held_bytes() const = 0;
};

// A store of this process's own.
std::shared_ptr<BlockStore> make_private_store(std::int64_t num_blocks, std::int64_t block_bytes);
// The store named `fingerprint` of this user, made by whichever process comes first.
// Falls back to a private one where the platform or its limits don't let it.
std::shared_ptr<BlockStore> open_shared_store(const std::string& fingerprint,
                                              std::int64_t num_blocks, std::int64_t block_bytes);

}  // namespace dts
