// SPDX-License-Identifier: Apache-2.0
// A data set open for reading: one .dts file, or all the volumes of a set, which are read
// as if they were one file. Nothing is copied for it but order and labels of a set.
//
//   volume 0          volume 1          volume 2
//   blocks 0 1 2      blocks 3 4        blocks 5 6 7      blocks of the set
//   samples 0 .. 8    samples 9 .. 14   samples 15 .. 23  stored samples of the set
//
// Where one file is open, be it alone or a volume by itself, all is as DtsFile has it.
// Messages about a block or a sample name the volume's file and count within it.
//
// All methods are thread-safe; a VolumeHandles belongs to one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/lazy.h"
#include "format/reader.h"

namespace dts {

class VolumeSet;

// The read handles of one reader on the volumes of a set, each opened when it is first
// needed. The ones used last stay open, so that many volumes take few descriptors.
class VolumeHandles {
 public:
  // Good until the next call. CorruptFile when it is not the file any more that the set opened.
  const InputFile& of(const VolumeSet& set, std::size_t volume);
  // nullptr where none is open.
  const InputFile* find(std::size_t volume) const;

 private:
  struct Entry {
    std::size_t volume;
    std::unique_ptr<InputFile> handle;
  };
  std::vector<Entry> entries_;  // the one used last comes first
};

class VolumeSet {
 public:
  // A block or a stored sample: which volume it is in, and its number there.
  struct Place {
    std::size_t volume;
    std::uint64_t index;
  };

  // One path: that file alone, whatever it is. Several: the volumes of one set, in any
  // order. CorruptFile names the file that does not belong to the others, or the volume that
  // is missing or there twice; what only the tables show is found when they are read.
  // InvalidArgument: no path.
  static std::shared_ptr<VolumeSet> open(std::vector<std::string> paths, OpenOptions options = {});

  std::size_t num_volumes() const { return volumes_.size(); }
  const DtsFile& volume(std::size_t number) const { return *volumes_[number]; }
  // Of the set: counts are sums, limits the largest, crc_code (of one file each) 0.
  const Header& header() const { return header_; }
  std::uint64_t file_bytes() const { return file_bytes_; }
  // Numbers in the set of a volume's first block and first stored sample.
  std::uint64_t first_block(std::size_t volume) const { return first_block_[volume]; }
  std::uint64_t first_sample(std::size_t volume) const { return first_sample_[volume]; }

  // OutOfRange: there is none of that number.
  Place block_place(std::int64_t block) const;
  Place sample_place(std::int64_t stored) const;

  // InvalidArgument for a pixel file.
  void require_blocks() const { volumes_.front()->require_blocks(); }
  // CorruptFile when a volume changed since it was opened.
  void check_unchanged(VolumeHandles& handles) const;

  // Built on first use, then shared.
  // [num_volumes] tables of each volume.
  const std::vector<const SampleTable*>& tables() const;
  // [num_samples] source index by stored index: of a set a permutation, checked.
  const std::vector<std::uint32_t>& source_order() const;
  // [num_samples] place in labels() by stored index.
  const std::vector<std::uint32_t>& source_places() const;
  // [num_samples] label by rising source index.
  const std::vector<std::int32_t>& labels() const;

  // As the methods of DtsFile with these names, by the set's numbers.
  bool read_blocks(std::span<const std::int64_t> block_ids, ByteSpan out, bool check,
                   VolumeHandles& handles, const std::atomic<bool>* maybe_stop = nullptr) const;
  std::vector<ArenaSample> index_samples(ConstByteSpan arena,
                                         std::span<const std::int64_t> block_ids) const;
  std::uint64_t plan_samples(std::span<const std::int64_t> stored_ids,
                             std::span<std::int64_t> offsets) const;
  void read_samples(std::span<const std::int64_t> stored_ids, std::span<const std::int64_t> offsets,
                    ByteSpan out, VolumeHandles& handles) const;
  std::uint32_t check_block(std::int64_t block, ByteSpan scratch, VolumeHandles& handles,
                            std::string& problem) const;

 private:
  explicit VolumeSet(std::vector<std::shared_ptr<DtsFile>> volumes);

  bool is_one_file() const { return volumes_.size() == 1; }
  std::vector<std::uint32_t> join_order() const;
  std::vector<std::int32_t> join_labels() const;

  std::vector<std::shared_ptr<DtsFile>> volumes_;  // by volume_id
  Header header_;
  std::uint64_t file_bytes_ = 0;
  std::vector<std::uint64_t> first_block_;   // [num_volumes + 1]
  std::vector<std::uint64_t> first_sample_;  // [num_volumes + 1]
  mutable Lazy<std::vector<const SampleTable*>> tables_;
  mutable Lazy<std::vector<std::uint32_t>> source_order_;
  mutable Lazy<std::vector<std::int32_t>> labels_;
};

}  // namespace dts
