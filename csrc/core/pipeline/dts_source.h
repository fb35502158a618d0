// SPDX-License-Identifier: Apache-2.0
// The samples of a .dts file of JPEG blocks, by stored index. Random choices go by source
// index. Each reader thread has a handle of its own on the file.
//
// Keep: with kPrivate and kShared (FULLY) what has been read as blocks stays in memory, and
// samples of such blocks are views of it, for which no file is opened; the others are read
// singly. kShared: one memory for all processes of the user that read the same file.
#pragma once

#include <memory>
#include <vector>

#include "format/reader.h"
#include "pipeline/block_store.h"
#include "pipeline/sample_source.h"

namespace dts {

enum class Keep { kNothing, kPrivate, kShared };

class DtsSource : public SampleSource {
 public:
  // Reads the file's tables. InvalidArgument for a file of pixels; CorruptFile.
  explicit DtsSource(std::shared_ptr<const DtsFile> file, Keep keep = Keep::kNothing);

  std::int64_t num_samples() const override;
  std::int64_t label(std::int64_t sample) const override;
  std::int64_t choice_index(std::int64_t sample) const override;
  std::int64_t position(std::int64_t sample) const override;
  std::unique_ptr<ReaderState> open_reader() const override;
  void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                    std::span<SampleView> views, ReaderState& reader) const override;
  std::int64_t block_bytes() const override;
  std::int64_t num_blocks() const override;
  std::int64_t block_of(std::int64_t sample) const override;
  void read_block(std::int64_t block, ByteSpan out, bool check, ReaderState& reader) const override;
  SampleView view_in_block(std::int64_t sample, ConstByteSpan block_memory) const override;
  void check_unchanged(ReaderState& reader) const override;
  std::shared_ptr<BlockStore> store() const override { return store_; }
  KeptBytes kept() const override;
  std::int64_t num_kept_blocks() const override;
  std::int64_t num_held_blocks() const override;
  bool keep_next(bool check, ReaderState& reader) const override;

 private:
  std::uint64_t block_start(std::int64_t block) const;
  SampleView view_of(ConstByteSpan stored) const;

  std::shared_ptr<const DtsFile> file_;
  // The file's own, looked up once: its accessors take a lock.
  const SampleTable& table_;
  const std::vector<std::uint32_t>& source_order_;
  const std::vector<std::int32_t>& labels_;
  const bool has_pixels_;                     // some samples may be pixels, not encoded images
  std::vector<std::uint32_t> volume_places_;  // of a volume: place by source order
  std::shared_ptr<BlockStore> store_;
};

}  // namespace dts
