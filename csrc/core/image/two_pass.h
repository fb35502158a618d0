// SPDX-License-Identifier: Apache-2.0
// The two passes of a resize, in either order. Rows are made in small groups just before
// the next step needs them and forgotten after it, so that they stay in the nearest
// cache. Owns the memory between the passes and reuses it. One per thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/resample_kernels.h"
#include "image/scratch.h"
#include "image/view.h"

namespace dts {

class TwoPassResize {
 public:
  explicit TwoPassResize(const ResampleKernels& kernels) : kernels_(kernels) {}

  // `source`: pixels [source_begin, source_end) of both axes. `out`: an output of
  // `columns` by one of `rows`. Both have 1 or 3 channels.
  void run(const PackedAxis& columns, const PackedAxis& rows, bool vertical_first,
           const ConstImageView& source, const ImageView& out);

  std::size_t held_bytes() const;
  void release();

 private:
  using SourceRows = std::array<const std::uint8_t*, kMaxRowsPerGroup>;
  using Planes = std::array<std::uint8_t*, kMaxRowsPerGroup>;

  // Resizes horizontally, group by group, then vertically.
  void run_horizontal_first(const PackedAxis& columns, const PackedAxis& rows,
                            const ConstImageView& source, const ImageView& out);
  void run_vertical_first(const PackedAxis& columns, const PackedAxis& rows,
                          const ConstImageView& source, const ImageView& out);

  // A ring of planes of `num_values` each, for what one output of `rows` needs.
  void lay_out_ring(const PackedAxis& rows, std::int64_t num_values);
  std::uint8_t* ring_plane(std::int64_t unit) const {
    return ring_ + unit % num_ring_planes_ * plane_bytes_;
  }
  Planes ring_group(std::int64_t group) const;
  SourceRows source_group(const ConstImageView& source, std::int64_t group) const;
  std::int64_t padded_plane_bytes(std::int64_t num_values) const;

  // Output y of `rows` from the ring's planes, `num_values` bytes to `out`.
  void resize_vertically(const PackedAxis& rows, std::int64_t y, std::int64_t num_values,
                         std::uint8_t* out);
  // One group of rows.
  void resize_horizontally(const PackedAxis& columns, std::int64_t channels, const SourceRows& rows,
                           const Planes& planes);
  // The rows of a group to rows y, y + 1 ... of `out`, as far as it has them.
  void write_group(const Planes& planes, std::int64_t y, const ImageView& out);

  const ResampleKernels& kernels_;
  Scratch ring_memory_, group_memory_, row_memory_, spread_memory_, spare_row_;
  std::vector<const std::uint8_t*> unit_planes_;
  std::uint8_t* ring_ = nullptr;
  std::int64_t plane_bytes_ = 0;
  std::int64_t num_ring_planes_ = 0;
};

}  // namespace dts
