// SPDX-License-Identifier: Apache-2.0
#include "pipeline/file_source.h"

#include <new>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace dts {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{2} << 30;
constexpr std::size_t kChunkBytes = std::size_t{8} << 20;
// Larger files get a chunk of their own, so that little of a chunk is left over.
constexpr std::size_t kMaxSharedBytes = std::size_t{1} << 20;

const std::byte kNoBytes[1] = {};  // where an empty file "is"

}  // namespace

FileSource::FileSource(std::vector<std::string> paths, std::vector<std::int64_t> labels, bool keep)
    : paths_(std::move(paths)), labels_(std::move(labels)) {
  if (labels_.size() != paths_.size()) {
    throw InvalidArgument(std::to_string(labels_.size()) + " labels for " +
                          std::to_string(paths_.size()) + " files, expected one each");
  }
  if (!keep) return;
  kept_ = std::make_unique<Kept[]>(paths_.size());
  is_claimed_.resize(paths_.size());
}

std::int64_t FileSource::label(std::int64_t sample) const {
  check_sample(sample);
  return labels_[static_cast<std::size_t>(sample)];
}

std::int64_t FileSource::choice_index(std::int64_t sample) const {
  check_sample(sample);
  return sample;
}

std::unique_ptr<ReaderState> FileSource::open_reader() const {
  return std::make_unique<ReaderState>();
}

void FileSource::read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                              std::span<SampleView> views, ReaderState& reader) const {
  check_views(samples.size(), views.size());
  for (const std::int64_t sample : samples) check_sample(sample);
  for (std::size_t i = 0; i < samples.size() && !reader.is_stopped(); ++i) {
    const auto at = static_cast<std::size_t>(samples[i]);
    const std::byte* data = kept_ ? kept_[at].data.load(std::memory_order_acquire) : nullptr;
    if (data != nullptr) {
      views[i] = {};
      views[i].bytes = {data, kept_[at].size};
    } else {
      views[i] = read_file(at, memory, reader);
      if (kept_ && !views[i].is_missing) keep_bytes(at, views[i].bytes);
    }
  }
}

SampleView FileSource::read_file(std::size_t at, ReadMemory& memory, ReaderState& reader) const {
  SampleView view;
  try {
    const InputFile file(paths_[at]);
    const FileIdentity identity = file.identity();
    if (identity.size <= kMaxFileBytes) {
      const ByteSpan out = memory.allocate(identity.size);
      file.read_exact(0, out);
      reader.bytes_read += static_cast<std::int64_t>(out.size());
      if (file.identity() == identity) {
        view.bytes = out;
        return view;
      }
    }
  } catch (const IoError&) {
  } catch (const CorruptFile&) {      // it became shorter
  } catch (const InvalidArgument&) {  // no possible name
  }
  view.is_missing = true;
  return view;
}

void FileSource::keep_bytes(std::size_t at, ConstByteSpan bytes) const {
  const std::byte* place = kNoBytes;
  std::byte* copy_to = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (is_claimed_[at]) return;
    if (bytes.size() > kMaxSharedBytes) {
      chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes.size()));
      copy_to = chunks_.back().get();
      held_bytes_ += static_cast<std::int64_t>(bytes.size());
    } else if (!bytes.empty()) {
      if (bytes.size() > free_.size()) {
        chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kChunkBytes));
        free_ = {chunks_.back().get(), kChunkBytes};
        held_bytes_ += static_cast<std::int64_t>(kChunkBytes);
      }
      copy_to = free_.data();
      free_ = free_.subspan(bytes.size());
    }
    is_claimed_[at] = true;
  }
  if (copy_to != nullptr) {
    if (!bytes.empty()) std::memcpy(copy_to, bytes.data(), bytes.size());
    place = copy_to;
  }
  kept_[at].size = bytes.size();
  kept_[at].data.store(place, std::memory_order_release);
  num_kept_ += 1;
}

KeptBytes FileSource::kept() const {
  return {held_bytes_, false, kept_ && num_kept_ == num_samples()};
}

}  // namespace dts
