// SPDX-License-Identifier: Apache-2.0
// Listing tar archives, and samples that are ranges of files.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "base/file.h"
#include "format/ranges.h"
#include "format/tar.h"
#include "jpeg/probe_file.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/numbers.h"
#include "ops/paths.h"
#include "ops/probe_row.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

std::uint64_t as_unsigned(std::int64_t value, const char* name) {
  check_range(name, value, INT64_MAX);
  return static_cast<std::uint64_t>(value);
}

Tensor text_tensor(const std::string& text) { return byte_tensor(std::as_bytes(std::span(text))); }

// `identities`: size and mtime in ns of each path.
std::vector<ListedFile> listed_files(const Tensor& paths, const Tensor& identities) {
  auto names = split_paths(byte_view(paths, "paths"));
  const auto values = int64_view(identities, "identities");
  check_same_length(2 * names.size(), "identities for these paths", values.size(), "the given one");
  std::vector<ListedFile> files;
  files.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    files.push_back(
        {std::move(names[i]), as_unsigned(values[2 * i], "the size of a file"), values[2 * i + 1]});
  }
  return files;
}

std::vector<FileRange> file_ranges(const Tensor& ranges) {
  const auto values = int64_view(ranges, "ranges");
  if (values.size() % 3 != 0) throw InvalidArgument("ranges must be [n, 3]");
  std::vector<FileRange> found(values.size() / 3);
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = {values[3 * i], values[3 * i + 1], values[3 * i + 2]};
  }
  return found;
}

std::tuple<Tensor, Tensor, Tensor, std::int64_t> list_tar_op(std::string path, std::int64_t begin,
                                                             std::int64_t end,
                                                             std::int64_t position,
                                                             std::int64_t max_members) {
  return guarded([&] {
    const InputFile file(unescape_path(path));
    const std::uint64_t stop = as_unsigned(end, "end");
    if (stop > file.identity().size) throw CorruptFile(file.path(), -1, "the file became shorter");
    const TarListing found =
        list_tar(file, as_unsigned(begin, "begin"), stop, as_unsigned(position, "position"),
                 static_cast<std::size_t>(as_unsigned(max_members, "max_members")));
    return std::tuple{text_tensor(found.names), text_tensor(found.targets),
                      int64_tensor(found.members), found.next};
  });
}

Tensor probe_ranges_op(Tensor paths, Tensor identities, Tensor ranges) {
  return guarded([&] {
    const auto files = listed_files(paths, identities);
    const auto wanted = file_ranges(ranges);
    const std::int64_t shape[2] = {static_cast<std::int64_t>(wanted.size()), 5};
    Tensor result = torch::stable::empty({shape, 2}, ScalarType::Long);
    auto* row = static_cast<std::int64_t*>(result.data_ptr());
    std::vector<std::byte> buffer;
    // Ranges come in runs of one file: it stays open for the run.
    std::optional<InputFile> open;
    std::int64_t open_number = -1;
    for (const FileRange& range : wanted) {
      check_not_ending();
      check_range(range, files);
      if (range.file != open_number) {
        open.reset();
        open.emplace(open_listed(files[static_cast<std::size_t>(range.file)]));
        open_number = range.file;
      }
      std::fill_n(row, 5, 0);
      row[1] = range.size;
      set_probe_row(probe_file(*open, static_cast<std::uint64_t>(range.offset),
                               static_cast<std::uint64_t>(range.size), buffer),
                    row);
      row += 5;
    }
    return result;
  });
}

void read_ranges_into_op(Tensor paths, Tensor identities, Tensor ranges, Tensor offsets,
                         Tensor arena) {
  guarded([&] {
    const auto files = listed_files(paths, identities);
    read_ranges_into(files, file_ranges(ranges), int64_view(offsets, "offsets"),
                     byte_view(arena, "arena"));
  });
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "list_tar(str path, int begin, int end, int position, int max_members) -> (Tensor names, "
      "Tensor targets, Tensor members, int next)");
  m.def("probe_ranges(Tensor paths, Tensor identities, Tensor ranges) -> Tensor");
  m.def(
      "read_ranges_into(Tensor paths, Tensor identities, Tensor ranges, Tensor offsets, Tensor(a!) "
      "arena) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("list_tar", DTS_BOX(&list_tar_op));
  m.impl("probe_ranges", DTS_BOX(&probe_ranges_op));
  m.impl("read_ranges_into", DTS_BOX(&read_ranges_into_op));
}

}  // namespace dts::ops
