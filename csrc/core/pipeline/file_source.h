// SPDX-License-Identifier: Apache-2.0
// Encoded images in files of their own, one sample each, read whole. A file that can't be
// read (gone, no right, a folder, a FIFO, changed meanwhile, over 2 GiB) is_missing; one
// of 0 bytes is a sample of 0 bytes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/sample_source.h"

namespace dts {

class FileSource : public SampleSource {
 public:
  // `keep`: the bytes of each file stay in memory after the first read and are never read
  // again. InvalidArgument: not one label per path.
  FileSource(std::vector<std::string> paths, std::vector<std::int64_t> labels, bool keep);

  std::int64_t num_samples() const override { return static_cast<std::int64_t>(paths_.size()); }
  std::int64_t label(std::int64_t sample) const override;
  std::int64_t choice_index(std::int64_t sample) const override;
  std::unique_ptr<ReaderState> open_reader() const override;
  void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                    std::span<SampleView> views, ReaderState& reader) const override;
  KeptBytes kept() const override;

 private:
  // A file's bytes that stay. `data` is set last: who sees it sees the rest.
  struct Kept {
    std::atomic<const std::byte*> data{nullptr};
    std::size_t size = 0;
  };

  SampleView read_file(std::size_t at, ReadMemory& memory, ReaderState& reader) const;
  void keep_bytes(std::size_t at, ConstByteSpan bytes) const;

  std::vector<std::string> paths_;
  std::vector<std::int64_t> labels_;
  std::unique_ptr<Kept[]> kept_;  // by sample; null: nothing is kept

  // Where new bytes go: the free end of the last chunk. Guarded by the mutex.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<std::byte[]>> chunks_;
  mutable ByteSpan free_;
  mutable std::vector<bool> is_claimed_;  // by sample: somebody keeps it or is about to
  mutable std::atomic<std::int64_t> held_bytes_{0};
  mutable std::atomic<std::int64_t> num_kept_{0};
};

}  // namespace dts
