// SPDX-License-Identifier: Apache-2.0
// Single samples of a DtsFile: where they go in memory, and reading them in file order.
#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "format/reader.h"

namespace dts {
namespace {

// Reading a gap of this size costs less than another call, on disks and in the page cache.
constexpr std::uint64_t kMaxGapBytes = 64 << 10;
constexpr std::uint64_t kMaxRunBytes = 4 << 20;

struct Piece {
  std::uint64_t file_offset;
  std::uint64_t size;
  std::uint64_t place;
  std::uint64_t end() const { return file_offset + size; }
};

// Neighbours in file order, read with one call.
struct Run {
  std::span<const Piece> pieces;
  std::uint64_t begin;
  std::uint64_t end;

  // Whether the samples lie in memory as they lie in the file, padding included, so that
  // the run can be read straight to its place.
  bool has_file_layout() const {
    for (std::size_t i = 1; i < pieces.size(); ++i) {
      const Piece& before = pieces[i - 1];
      const Piece& piece = pieces[i];
      if (piece.file_offset != align_up(before.end()) ||
          piece.place - before.place != piece.file_offset - before.file_offset) {
        return false;
      }
    }
    return true;
  }
};

Run next_run(std::span<const Piece> pieces) {
  Run run{pieces.first(1), pieces[0].file_offset, pieces[0].end()};
  for (std::size_t count = 1; count < pieces.size(); ++count) {
    const Piece& piece = pieces[count];
    const std::uint64_t end = std::max(run.end, piece.end());
    if (piece.file_offset > run.end + kMaxGapBytes || end - run.begin > kMaxRunBytes) break;
    run.end = end;
    run.pieces = pieces.first(count + 1);
  }
  return run;
}

}  // namespace

std::uint64_t DtsFile::plan_samples(std::span<const std::int64_t> stored_ids,
                                    std::span<std::int64_t> offsets) const {
  const SampleTable& table = samples();
  if (offsets.size() != stored_ids.size()) {
    throw InvalidArgument(std::to_string(offsets.size()) + " offsets for " +
                          std::to_string(stored_ids.size()) + " samples");
  }
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < stored_ids.size(); ++i) {
    if (stored_ids[i] < 0 || static_cast<std::uint64_t>(stored_ids[i]) >= table.sizes.size()) {
      throw OutOfRange("stored sample " + std::to_string(stored_ids[i]) +
                       " is out of range, the file has " + std::to_string(table.sizes.size()));
    }
    offsets[i] = static_cast<std::int64_t>(end);
    end += align_up(table.sizes[stored_ids[i]]);
  }
  return end;
}

void DtsFile::read_samples(std::span<const std::int64_t> stored_ids,
                           std::span<const std::int64_t> offsets, ByteSpan out,
                           const InputFile& handle) const {
  const SampleTable& table = samples();
  if (offsets.size() != stored_ids.size()) {
    throw InvalidArgument(std::to_string(offsets.size()) + " offsets for " +
                          std::to_string(stored_ids.size()) + " samples");
  }
  std::vector<Piece> pieces;
  pieces.reserve(stored_ids.size());
  for (std::size_t i = 0; i < stored_ids.size(); ++i) {
    if (stored_ids[i] < 0 || static_cast<std::uint64_t>(stored_ids[i]) >= table.sizes.size()) {
      throw OutOfRange("stored sample " + std::to_string(stored_ids[i]) +
                       " is out of range, the file has " + std::to_string(table.sizes.size()));
    }
    const std::uint64_t size = table.sizes[stored_ids[i]];
    if (offsets[i] < 0 || offsets[i] % std::int64_t{kSampleAlignment} != 0 ||
        static_cast<std::uint64_t>(offsets[i]) > out.size() ||
        size > out.size() - static_cast<std::uint64_t>(offsets[i])) {
      throw InvalidArgument("stored sample " + std::to_string(stored_ids[i]) + " of " +
                            std::to_string(size) + " bytes can't be put at " +
                            std::to_string(offsets[i]) + ", expected a multiple of 64 within " +
                            std::to_string(out.size()) + " bytes");
    }
    if (size == 0) continue;
    pieces.push_back({table.offsets[stored_ids[i]], size, static_cast<std::uint64_t>(offsets[i])});
  }
  std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return a.file_offset != b.file_offset ? a.file_offset < b.file_offset : a.place < b.place;
  });
  check_unchanged(handle);

  std::unique_ptr<std::byte[]> bounce;
  for (std::span<const Piece> left = pieces; !left.empty();) {
    const Run run = next_run(left);
    const std::uint64_t num_bytes = run.end - run.begin;
    if (run.has_file_layout()) {
      handle.read_exact(run.begin, out.subspan(run.pieces[0].place, num_bytes));
    } else {
      if (!bounce) bounce = std::make_unique_for_overwrite<std::byte[]>(kMaxRunBytes);
      handle.read_exact(run.begin, {bounce.get(), num_bytes});
      for (const Piece& piece : run.pieces) {
        if (piece.size == 0) continue;  // `out` may be empty
        std::memcpy(out.data() + piece.place, bounce.get() + (piece.file_offset - run.begin),
                    piece.size);
      }
    }
    left = left.subspan(run.pieces.size());
  }
}

}  // namespace dts
