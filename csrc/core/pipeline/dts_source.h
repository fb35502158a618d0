// SPDX-License-Identifier: Apache-2.0
// The samples of a data set of JPEG blocks, one .dts file or the volumes of a set, by stored
// index. Random choices go by source index. Each reader thread has handles of its own.
//
// Keep: with kPrivate and kShared (FULLY) what has been read as blocks stays in memory, and
// samples of such blocks are views of it, for which no file is opened; the others are read
// singly. kShared: one memory for all processes of the user that read the same file.
#pragma once

#include <memory>
#include <vector>

#include "format/volume_set.h"
#include "pipeline/block_store.h"
#include "pipeline/sample_source.h"

namespace dts {

enum class Keep { kNothing, kPrivate, kShared };

class DtsSource : public SampleSource {
 public:
  // Reads the tables. InvalidArgument for a file of pixels; CorruptFile.
  explicit DtsSource(std::shared_ptr<const VolumeSet> set, Keep keep = Keep::kNothing);

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
  bool read_block(std::int64_t block, ByteSpan out, bool check, ReaderState& reader) const override;
  SampleView view_in_block(std::int64_t sample, ConstByteSpan block_memory) const override;
  void check_unchanged(ReaderState& reader) const override;
  std::shared_ptr<BlockStore> store() const override { return store_; }
  KeptBytes kept() const override;
  std::int64_t num_kept_blocks() const override;
  std::int64_t num_held_blocks() const override;
  bool keep_next(bool check, ReaderState& reader) const override;

 private:
  std::uint32_t size_of(std::int64_t sample) const;
  SampleView view_of(ConstByteSpan stored) const;

  std::shared_ptr<const VolumeSet> set_;
  // The set's own, looked up once: its accessors take a lock.
  const std::vector<const SampleTable*>& tables_;
  const std::vector<std::uint32_t>& source_order_;
  const std::vector<std::uint32_t>& source_places_;
  const std::vector<std::int32_t>& labels_;
  const bool has_pixels_;  // some samples may be pixels, not encoded images
  std::shared_ptr<BlockStore> store_;
};

}  // namespace dts
