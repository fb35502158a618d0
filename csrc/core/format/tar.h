// SPDX-License-Identifier: Apache-2.0
// What lies where in a tar archive: its headers are walked, its files' bytes are not read.
// Takes ustar, GNU (long names, base-256 sizes), pax and old v7 headers.
//
// Input: an open file and the range of it that is the archive, so that an archive inside of an
// archive is listed in place. Output: columns that the caller owns. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"

namespace dts {

// kSparse: a file whose zeros were left out, so that its bytes do not lie in one piece.
enum class TarKind : std::int64_t {
  kFile = 0,
  kFolder = 1,
  kHardLink = 2,
  kSymlink = 3,
  kSparse = 4
};

struct TarListing {
  // Of each member, in order: its name as stored, ended by a NUL byte.
  std::string names;
  // Of each link, in order: what it points to, ended by a NUL byte.
  std::string targets;
  // Of each member: kind, offset of its bytes in the file, number of bytes (kSparse: as stored).
  std::vector<std::int64_t> members;
  // Where the next member starts; -1 after the last one.
  std::int64_t next = -1;
};

// Lists at most `max_members` members from `position` on; [begin, end) is the archive. Call it
// again with `next` for the rest, so that a long listing can be stopped between two calls.
// CorruptFile names the offset: a header with a wrong checksum or field, an archive that is cut
// off or has no end mark, another archive behind the end mark, a multi-volume member. Devices,
// FIFOs and volume labels are passed over.
TarListing list_tar(const InputFile& file, std::uint64_t begin, std::uint64_t end,
                    std::uint64_t position, std::size_t max_members);

}  // namespace dts
