// SPDX-License-Identifier: Apache-2.0
// Where a loader's samples come from: a .dts file, a list of files, pixels in memory, or
// several of these one behind the other. A source knows each sample's label and the index
// its random choices go by, and reads samples into memory it is given.
//
// Samples are numbered 0 .. num_samples()-1: a .dts file's by stored index, files and pixels
// in the order given, several sources one behind the other.
// All methods are thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace dts {

// A sample in memory. height > 0: its pixels, HWC rows without gaps; 0: an encoded image.
struct SampleView {
  ConstByteSpan bytes;
  std::int64_t height = 0, width = 0, channels = 0;
  bool is_missing = false;  // could not be read (a file of a folder): Python says why
};

// Memory that grows and is kept. Pointers into it hold until the next reserve().
class ReadMemory {
 public:
  // At least `bytes` bytes, aligned to 64; what they hold is lost when it has to grow.
  ByteSpan reserve(std::size_t bytes);
  std::size_t held_bytes() const { return capacity_; }
  void release();

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t capacity_ = 0;
};

// What a reader thread keeps for itself between calls: handles on the files it reads.
class ReaderState {
 public:
  virtual ~ReaderState() = default;
};

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  virtual std::int64_t num_samples() const = 0;
  virtual std::int64_t label(std::int64_t sample) const = 0;
  // The index of format.md section 5, "Choices about a sample".
  virtual std::int64_t choice_index(std::int64_t sample) const = 0;

  virtual std::unique_ptr<ReaderState> open_reader() const = 0;

  // Reads the samples, in any number and order, in file order and neighbours together;
  // views[i] gets where samples[i] is: in `memory`, or in memory of the source's own that
  // stays. OutOfRange, IoError, CorruptFile. A file of a folder that can't be read is no
  // error here but is_missing.
  virtual void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                            std::span<SampleView> views, ReaderState& reader) const = 0;

  // 0: there are no blocks, and read_block is never called.
  virtual std::int64_t block_bytes() const { return 0; }
  virtual std::int64_t num_blocks() const { return 0; }
  // Which block a sample is in.
  virtual std::int64_t block_of(std::int64_t sample) const;
  // Reads one block whole (block_bytes() bytes of `out`), checked against its CRC-32 where
  // `check`, and its index against the tables.
  virtual void read_block(std::int64_t block, ByteSpan out, bool check, ReaderState& reader) const;
  // The sample inside its block that was read to `block_memory`.
  virtual SampleView view_in_block(std::int64_t sample, ConstByteSpan block_memory) const;

  // CorruptFile where a file is not what it was when it was opened.
  virtual void check_unchanged(ReaderState& reader) const { static_cast<void>(reader); }
};

}  // namespace dts
