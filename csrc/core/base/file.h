// SPDX-License-Identifier: Apache-2.0
// Every call of the platform's file system stands behind this header; file_posix.cpp
// is the only file to write anew for another platform.
//
// Paths are byte strings as the platform gives them. All errors are IoError
// (code = errno, path), except where CorruptFile is named.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace dts {

// What tells two states of a file apart.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  bool operator==(const FileIdentity&) const = default;
};

// Reads are cut into pieces of this size: large enough for full disk speed, small
// enough that a signal or a cancelled read never waits for long.
inline constexpr std::size_t kReadPieceBytes = std::size_t{4} << 20;
inline constexpr std::size_t kWritePieceBytes = kReadPieceBytes;

// One open regular file, read only. Owns its descriptor. Positioned reads only, so
// one object may be shared by threads and survives fork; each reader thread has its
// own all the same, as kernels keep read-ahead state per open file.
class InputFile {
 public:
  // EISDIR for a directory, EINVAL for what is no regular file (a FIFO is not
  // waited for).
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;

  // Fills `out` from `offset`; retries short reads and EINTR. CorruptFile (offset =
  // where the file ends) when the file is too short.
  void read_exact(std::uint64_t offset, ByteSpan out) const;

  // As read_exact, but stops at the end of the file; returns the bytes read.
  std::size_t read_some(std::uint64_t offset, ByteSpan out) const;

  // State of the open file now (fstat).
  FileIdentity identity() const;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

// A file that appears under its name only when it is complete. It is written as
// `<target>.partial` beside the target, under an exclusive lock, so that two writers
// of one target meet an error (EWOULDBLOCK) instead of each other; a crash leaves
// only the partial file, which the next writer takes over and empties. A target that is
// a symbolic link is an existing file; with `overwrite` the link is replaced by the new
// file and what it pointed to stays as it was. With `resume` the partial file keeps what
// it holds, for a caller who knows what that is, and stays when this object goes uncommitted.
// write_at may be called from several threads for ranges that don't overlap; all
// else from one.
class OutputFile {
 public:
  // EEXIST when the target exists and `overwrite` is false; EISDIR when it is a directory,
  // EINVAL when it is a device or FIFO; EWOULDBLOCK when another writer holds it.
  OutputFile(std::string target, bool overwrite, bool resume = false);
  // Removes the partial file unless commit() has run or it is to be resumed (a forked child
  // never does).
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Asks the file system for room up front, so that a full disk is an error (ENOSPC)
  // before hours of work; silently does nothing where that is not supported.
  void reserve(std::uint64_t bytes);

  void write_at(std::uint64_t offset, ConstByteSpan data);

  // Fills `out` from `offset` on; returns the bytes read, fewer where the file ends.
  std::size_t read_some(std::uint64_t offset, ByteSpan out) const;

  // Cuts the partial file to `size`, or lengthens it with zeros.
  void resize(std::uint64_t size);

  // Cuts the file to `size`, flushes it to the disk and renames it to the target
  // (EEXIST when the target appeared meanwhile and `overwrite` is false). Once.
  void commit(std::uint64_t size);
  // The two halves of commit, for several files that appear together: all that can fail for
  // want of room comes before the first of them has its name.
  void seal(std::uint64_t size);
  void publish();

  const std::string& target() const { return target_; }
  const std::string& partial_path() const { return partial_; }

 private:
  void remove_partial() noexcept;

  std::string target_;
  std::string partial_;
  bool overwrite_ = false;
  bool committed_ = false;
  bool resume_ = false;
  int descriptor_ = -1;
  std::int64_t owner_process_ = 0;
};

}  // namespace dts
