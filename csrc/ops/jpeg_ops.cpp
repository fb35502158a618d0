// SPDX-License-Identifier: Apache-2.0
// What JPEG headers say, for many files or many samples in memory at once.
#include <algorithm>
#include <string>
#include <vector>

#include "base/file.h"
#include "image/simd.h"
#include "jpeg/codec_info.h"
#include "jpeg/probe.h"
#include "jpeg/probe_file.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/paths.h"
#include "ops/probe_row.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

// Row: kind, bytes, width, height, components.
void probe_path(const std::string& path, std::vector<std::byte>& buffer, std::int64_t* row) {
  const InputFile file(path);
  const std::uint64_t size = file.identity().size;
  row[1] = static_cast<std::int64_t>(size);
  set_probe_row(probe_file(file, 0, size, buffer), row);
}

Tensor probe_files(Tensor paths) {
  return guarded([&] {
    const auto names = split_paths(byte_view(paths, "paths"));
    const std::int64_t size[2] = {static_cast<std::int64_t>(names.size()), 5};
    Tensor result = torch::stable::empty({size, 2}, ScalarType::Long);
    auto* row = static_cast<std::int64_t*>(result.data_ptr());
    std::vector<std::byte> buffer;
    for (const std::string& name : names) {
      check_not_ending();
      std::fill_n(row, 5, 0);
      try {
        probe_path(name, buffer, row);
      } catch (const IoError& error) {
        row[0] = -error.code;
      }
      row += 5;
    }
    return result;
  });
}

// Row: kind, width, height, complete.
Tensor scan_samples(Tensor arena, Tensor offsets, Tensor sizes) {
  const ConstByteSpan bytes = byte_view(arena, "arena");
  const auto starts = int64_view(offsets, "offsets");
  const auto lengths = int64_view(sizes, "sizes");
  check_same_length(starts.size(), "offsets", lengths.size(), "sizes");
  const std::int64_t size[2] = {static_cast<std::int64_t>(starts.size()), 4};
  Tensor result = torch::stable::empty({size, 2}, ScalarType::Long);
  auto* row = static_cast<std::int64_t*>(result.data_ptr());
  for (std::size_t i = 0; i < starts.size(); ++i, row += 4) {
    check_not_ending();
    const ConstByteSpan sample = sample_bytes(bytes, starts[i], lengths[i], i);
    const auto info = probe_jpeg(sample);
    row[0] = info ? 1 : 0;
    row[1] = info ? info->width : 0;
    row[2] = info ? info->height : 0;
    row[3] = info && is_complete_jpeg(sample) ? 1 : 0;
  }
  return result;
}

std::string jpeg_library_op() { return jpeg_library(); }

std::string simd_level_op() { return simd_level_name(best_simd_level()); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def("probe_files(Tensor paths) -> Tensor");
  m.def("scan_samples(Tensor arena, Tensor offsets, Tensor sizes) -> Tensor");
  m.def("jpeg_library() -> str");
  m.def("simd_level() -> str");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("probe_files", DTS_BOX(&probe_files));
  m.impl("scan_samples", DTS_BOX(&scan_samples));
  m.impl("jpeg_library", DTS_BOX(&jpeg_library_op));
  m.impl("simd_level", DTS_BOX(&simd_level_op));
}

}  // namespace dts::ops
