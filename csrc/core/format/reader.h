// SPDX-License-Identifier: Apache-2.0
// A .dts file open for reading: header and sections at once, tables on first use,
// blocks and samples into the caller's memory.
//
// Samples have two numbers: the *stored index* (block after block, index order within
// a block) and the *source index* (order of the folder they came from). In pixel files
// (MNIST, CIFAR) both are the same, and a sample's bytes are its pixels.
//
// All methods are thread-safe. Methods that take a handle first compare the file's state
// with that at open() (check_unchanged). A reader thread that reads blocks in bulk opens its own
// InputFile with open_handle() and passes it in.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/lazy.h"
#include "format/block.h"
#include "format/header.h"
#include "format/sections.h"

namespace dts {

// Where every stored sample lies. From BIDX + SIZE (+ nothing read from blocks), or
// from the block headers, read once in parallel, where a file has no sections. In pixel
// files from the shape in the header; they have no blocks, so the first and the fourth
// column are empty.
struct SampleTable {
  std::vector<std::uint64_t> first_sample;  // [num_blocks + 1] stored index of each block's first
  std::vector<std::uint64_t> offsets;       // [num_samples] absolute, by stored index
  std::vector<std::uint32_t> sizes;         // [num_samples] by stored index
  std::vector<std::int64_t> block_crcs;     // [num_blocks], -1 where unknown
  std::vector<std::int32_t> stored_labels;  // [num_samples] only when read from block headers
};

// A sample's place in memory after index_samples.
struct ArenaSample {
  std::uint32_t block_id;
  std::uint64_t offset;  // from the start of the arena
  std::uint32_t size;
  std::int32_t label;
};

struct OpenOptions {
  bool ignore_sections = false;  // fall back to block headers
};

class DtsFile {
 public:
  // Pixel files open too; methods about blocks throw InvalidArgument for them.
  static std::shared_ptr<DtsFile> open(std::string path, OpenOptions options = {});

  const Header& header() const { return header_; }
  ConstByteSpan header_bytes() const { return header_bytes_; }
  const SectionTable& sections() const { return sections_; }
  const std::string& path() const { return file_.path(); }
  const InputFile& handle() const { return file_; }
  const FileIdentity& identity() const { return identity_; }

  // A further handle on the same file; CorruptFile when it is not the same any more.
  InputFile open_handle() const;

  // CorruptFile when size, mtime or inode of the open file changed since open().
  void check_unchanged(const InputFile& handle) const;

  // InvalidArgument for a pixel file.
  void require_blocks() const;

  // Raw bytes of a section; OutOfRange when the file has none of that tag.
  std::vector<std::byte> section(const std::string& tag) const;

  // Built on first use, then shared.
  const SampleTable& samples() const;
  // [num_samples] source index by stored index: ORDR, checked to be a permutation (one
  // file) or distinct (a volume); the identity where absent.
  const std::vector<std::uint32_t>& source_order() const;
  // [num_samples] place in labels() by stored index: the source index, in a volume its rank
  // among the volume's own.
  const std::vector<std::uint32_t>& source_places() const;
  // [num_samples] label by rising source index (LABL, else from the block headers or, in
  // pixel files, from the payload).
  const std::vector<std::int32_t>& labels() const;

  // Reads whole blocks one after the other into `out` (block_ids.size() * block_size
  // bytes). `check`: CRC-32 of each block where it is known. The index of each block
  // is checked against the tables always. CorruptFile names block, samples, offset.
  // False: `maybe_stop` was set; no piece (kReadPieceBytes) was begun after that, and `out`
  // holds anything.
  bool read_blocks(std::span<const std::int64_t> block_ids, ByteSpan out, bool check,
                   const InputFile& handle, const std::atomic<bool>* maybe_stop = nullptr) const;

  // SlotMeta of every sample of the blocks that lie in `arena` one after the other.
  std::vector<ArenaSample> index_samples(ConstByteSpan arena,
                                         std::span<const std::int64_t> block_ids) const;

  // Bytes needed to hold these samples one behind the other, each 64-byte aligned;
  // offsets[i] gets the place of stored_ids[i]. OutOfRange for a wrong id.
  std::uint64_t plan_samples(std::span<const std::int64_t> stored_ids,
                             std::span<std::int64_t> offsets) const;
  // Reads the samples to their places (as planned) in file order, neighbours together.
  // Checks bounds only: single reads can't check a block's CRC.
  void read_samples(std::span<const std::int64_t> stored_ids, std::span<const std::int64_t> offsets,
                    ByteSpan out, const InputFile& handle) const;

  // For verify: CRC-32 of a block as it is on the disk, and what is wrong with its
  // index or CRC ("" when nothing is). Throws only IoError. `scratch`: block_size bytes.
  std::uint32_t check_block(std::uint32_t block_id, ByteSpan scratch, const InputFile& handle,
                            std::string& problem) const;
  // CRC-32 of [header_bytes, EOF) from the blocks' CRCs and what lies behind them.
  std::uint32_t file_crc(std::span<const std::int64_t> block_crcs) const;
  // Continues `crc` over the file's bytes from `at` on.
  std::uint32_t crc_to_end(std::uint32_t crc, std::uint64_t at, const InputFile& handle) const;

 private:
  DtsFile(InputFile file, OpenOptions options);

  // OutOfRange unless 0 <= block_id < num_blocks.
  std::uint32_t checked_block_id(std::int64_t block_id) const;
  std::uint64_t block_start(std::uint64_t block_id) const;
  std::string describe(std::uint32_t block_id) const;
  // A section of exactly `expected_bytes`; CorruptFile names it where it has others.
  std::vector<std::byte> table_section(const Section& section, std::uint64_t expected_bytes) const;

  SampleTable samples_from_sections(const Section& bidx, const Section& size) const;
  SampleTable samples_from_blocks() const;
  std::vector<std::uint32_t> load_source_order() const;
  std::vector<std::int32_t> load_labels() const;
  // Reads one block into `block` and returns its CRC-32; -1 where it was stopped.
  std::int64_t read_block(std::uint32_t block_id, ByteSpan block, const InputFile& handle,
                          const std::atomic<bool>* maybe_stop = nullptr) const;
  void check_crc(std::uint32_t block_id, std::uint32_t crc) const;
  // The block's index against the tables.
  void check_index(std::uint32_t block_id, ConstByteSpan block) const;

  InputFile file_;
  OpenOptions options_;
  FileIdentity identity_;
  std::vector<std::byte> header_bytes_;
  Header header_;
  SectionTable sections_;
  mutable Lazy<SampleTable> samples_;
  mutable Lazy<std::vector<std::uint32_t>> source_order_;
  mutable Lazy<std::vector<std::uint32_t>> source_places_;
  mutable Lazy<std::vector<std::int32_t>> labels_;
};

}  // namespace dts
