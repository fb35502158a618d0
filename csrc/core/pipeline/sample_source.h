// SPDX-License-Identifier: Apache-2.0
// Where a loader's samples come from: a .dts file, a list of files, pixels in memory, or
// several of these one behind the other. A source knows each sample's label and the index
// its random choices go by, and reads samples into memory it is given.
//
// Samples are numbered 0 .. num_samples()-1: a .dts file's by stored index, files and pixels
// in the order given, several sources one behind the other.
// All methods are thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/large_memory.h"

namespace dts {

class BlockStore;

// A sample in memory. height > 0: its pixels, HWC rows without gaps; 0: an encoded image.
struct SampleView {
  ConstByteSpan bytes;
  std::int64_t height = 0, width = 0, channels = 0;
  bool is_missing = false;  // could not be read (a file of a folder): Python says why
};

// Memory that grows and is kept from one use to the next. Not thread-safe.
class ReadMemory {
 public:
  // Another piece of `bytes` bytes, aligned to 64, of what clear() made free. Earlier pieces
  // stay where they are.
  ByteSpan allocate(std::size_t bytes);
  // Forgets all pieces and keeps the memory.
  void clear();
  // clear() and one piece.
  ByteSpan reserve(std::size_t bytes);
  // Whether `address` lies in this memory.
  bool holds(const std::byte* address) const;
  std::size_t held_bytes() const;
  // Gives all memory back.
  void release();

 private:
  struct Chunk {
    LargeMemory data;
    std::size_t capacity = 0;
    std::size_t used = 0;
  };
  std::vector<Chunk> chunks_;
};

// What a reader thread keeps for itself between calls: handles on the files it reads.
class ReaderState {
 public:
  virtual ~ReaderState() = default;

  // Where set and true, whoever reads returns early: what is read will not be used.
  void watch(const std::atomic<bool>* stop) { maybe_stop_ = stop; }
  bool is_stopped() const { return maybe_stop_ != nullptr && maybe_stop_->load(); }
  const std::atomic<bool>* watched() const { return maybe_stop_; }

  // What was read from disk through this state so far, by the thread it belongs to.
  std::int64_t bytes_read = 0;
  std::int64_t blocks_read = 0;

 private:
  const std::atomic<bool>* maybe_stop_ = nullptr;
};

// How much of a source is kept in memory by the source itself.
struct KeptBytes {
  std::int64_t held_bytes = 0;
  bool is_shared = false;    // other processes may have the same memory mapped
  bool is_complete = false;  // no read goes to the disk any more
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::int64_t num_samples() const = 0;
  virtual std::int64_t label(std::int64_t sample) const = 0;
  // Soon label(sample) will be asked for: brings it nearer.
  virtual void prefetch_label(std::int64_t sample) const { static_cast<void>(sample); }
  // The index of format.md section 5, "Choices about a sample".
  virtual std::int64_t choice_index(std::int64_t sample) const = 0;
  // Its place in the data set the user sees: source order. Sources that are joined count
  // positions in the whole by it.
  virtual std::int64_t position(std::int64_t sample) const { return sample; }

  virtual std::unique_ptr<ReaderState> open_reader() const = 0;

  // Reads the samples, in any number and order, in file order and neighbours together;
  // views[i] gets where samples[i] is: in a piece that is allocated from `memory`, or in
  // memory of the source's own that stays. OutOfRange, InvalidArgument (another number of
  // views), IoError, CorruptFile. A file of a folder that can't be read is no error here but
  // is_missing.
  virtual void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                            std::span<SampleView> views, ReaderState& reader) const = 0;

  // 0: there are no blocks, and the methods that take one throw InvalidArgument.
  virtual std::int64_t block_bytes() const { return 0; }
  virtual std::int64_t num_blocks() const { return 0; }
  // Which block a sample is in.
  virtual std::int64_t block_of(std::int64_t sample) const;
  // Reads one block whole (block_bytes() bytes of `out`), checked against its CRC-32 where
  // `check`, and its index against the tables. False: `reader` was stopped, `out` holds anything.
  virtual bool read_block(std::int64_t block, ByteSpan out, bool check, ReaderState& reader) const;
  // The sample inside its block that was read to `block_memory`.
  virtual SampleView view_in_block(std::int64_t sample, ConstByteSpan block_memory) const;

  // CorruptFile where a file is not what it was when it was opened.
  virtual void check_unchanged(ReaderState& reader) const { static_cast<void>(reader); }

  // FULLY: the memory that keeps the blocks; null: they are not kept.
  virtual std::shared_ptr<BlockStore> store() const;
  virtual KeptBytes kept() const { return {}; }
  // FULLY: how many blocks are to be kept, of all parts, and how many are.
  virtual std::int64_t num_kept_blocks() const { return 0; }
  virtual std::int64_t num_held_blocks() const { return 0; }
  // Reads one more block to be kept, one nobody has begun; false: none is left.
  virtual bool keep_next(bool check, ReaderState& reader) const;

 protected:
  // OutOfRange: `sample` is not of this source.
  void check_sample(std::int64_t sample) const;
  static void check_views(std::size_t num_samples, std::size_t num_views);
};

}  // namespace dts
