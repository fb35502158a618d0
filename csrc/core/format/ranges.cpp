// SPDX-License-Identifier: Apache-2.0
#include "format/ranges.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace dts {
namespace {

void check_unchanged(const InputFile& file, const ListedFile& listed) {
  const FileIdentity now = file.identity();
  if (now.size == listed.size && now.mtime_ns == listed.mtime_ns) return;
  throw CorruptFile(listed.path, -1,
                    "the file changed while it was converted: it had " +
                        std::to_string(listed.size) + " bytes when it was listed and has " +
                        std::to_string(now.size) + ", or was written to meanwhile");
}

void check_place(const FileRange& range, std::int64_t offset, std::size_t arena_bytes,
                 std::size_t number) {
  const auto room = static_cast<std::int64_t>(arena_bytes);
  if (offset >= 0 && offset <= room && range.size <= room - offset) return;
  throw InvalidArgument("sample " + std::to_string(number) + " of " + std::to_string(range.size) +
                        " bytes at " + std::to_string(offset) + " does not fit the arena of " +
                        std::to_string(arena_bytes) + " bytes");
}

}  // namespace

InputFile open_listed(const ListedFile& listed) {
  InputFile file(listed.path);
  check_unchanged(file, listed);
  return file;
}

void check_range(const FileRange& range, std::span<const ListedFile> files) {
  if (range.file < 0 || static_cast<std::uint64_t>(range.file) >= files.size()) {
    throw InvalidArgument("a range of file " + std::to_string(range.file) + " of " +
                          std::to_string(files.size()) + " files");
  }
  const std::uint64_t end = files[static_cast<std::size_t>(range.file)].size;
  if (range.offset < 0 || range.size < 0 || static_cast<std::uint64_t>(range.offset) > end ||
      static_cast<std::uint64_t>(range.size) > end - static_cast<std::uint64_t>(range.offset)) {
    throw InvalidArgument("a range of " + std::to_string(range.size) + " bytes at " +
                          std::to_string(range.offset) + " in a file of " + std::to_string(end) +
                          " bytes");
  }
}

void read_ranges_into(std::span<const ListedFile> files, std::span<const FileRange> ranges,
                      std::span<const std::int64_t> offsets, ByteSpan arena) {
  if (offsets.size() != ranges.size()) {
    throw InvalidArgument(std::to_string(ranges.size()) + " ranges and " +
                          std::to_string(offsets.size()) + " offsets");
  }
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    check_range(ranges[i], files);
    check_place(ranges[i], offsets[i], arena.size(), i);
  }
  std::vector<std::size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return ranges[a].file != ranges[b].file ? ranges[a].file < ranges[b].file
                                            : ranges[a].offset < ranges[b].offset;
  });
  for (auto at = order.begin(); at != order.end();) {
    const std::int64_t number = ranges[*at].file;
    const ListedFile& listed = files[static_cast<std::size_t>(number)];
    const InputFile file = open_listed(listed);
    for (; at != order.end() && ranges[*at].file == number; ++at) {
      const FileRange& range = ranges[*at];
      file.read_exact(static_cast<std::uint64_t>(range.offset),
                      arena.subspan(static_cast<std::size_t>(offsets[*at]),
                                    static_cast<std::size_t>(range.size)));
    }
    check_unchanged(file, listed);
  }
}

}  // namespace dts
