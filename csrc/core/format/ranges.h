// SPDX-License-Identifier: Apache-2.0
// Samples that are ranges of larger files, such as the members of an archive.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/bytes.h"
#include "base/file.h"

namespace dts {

// One sample: `size` bytes from `offset` on of file `file` of a list.
struct FileRange {
  std::int64_t file = 0;
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

// What a file was when its ranges were listed.
struct ListedFile {
  std::string path;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
};

// Opens a listed file. CorruptFile when its size or time of change are no longer those listed.
InputFile open_listed(const ListedFile& listed);

// InvalidArgument for a range that names no file of the list or lies outside of it.
void check_range(const FileRange& range, std::span<const ListedFile> files);

// Reads each range to its place in `arena`, each file opened once and read from front to
// back. IoError names the file; CorruptFile when it changed since it was listed.
void read_ranges_into(std::span<const ListedFile> files, std::span<const FileRange> ranges,
                      std::span<const std::int64_t> offsets, ByteSpan arena);

}  // namespace dts
