// SPDX-License-Identifier: Apache-2.0
#include "image/two_pass.h"

#include <algorithm>
#include <cstring>

namespace dts {
namespace {

// What horizontal kernels may write beyond a plane's last value.
constexpr std::int64_t kPlaneSlack = 64;
// Memory beyond this is given back after the run that needed it.
constexpr std::size_t kKeepBytes = std::size_t{4} << 20;

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

void TwoPassResize::run(const PackedAxis& columns, const PackedAxis& rows, bool vertical_first,
                        const ConstImageView& source, const ImageView& out) {
  if (vertical_first && !rows.is_identity) {
    run_vertical_first(columns, rows, source, out);
  } else {
    run_horizontal_first(columns, rows, source, out);
  }
  for (Scratch* memory :
       {&ring_memory_, &group_memory_, &row_memory_, &spread_memory_, &spare_row_}) {
    if (memory->bytes() > kKeepBytes) memory->release();
  }
}

std::size_t TwoPassResize::held_bytes() const {
  return ring_memory_.bytes() + group_memory_.bytes() + row_memory_.bytes() +
         spread_memory_.bytes() + spare_row_.bytes() +
         unit_planes_.capacity() * sizeof(unit_planes_[0]);
}

void TwoPassResize::release() {
  for (Scratch* memory :
       {&ring_memory_, &group_memory_, &row_memory_, &spread_memory_, &spare_row_}) {
    memory->release();
  }
  unit_planes_ = std::vector<const std::uint8_t*>();
}

void TwoPassResize::run_horizontal_first(const PackedAxis& columns, const PackedAxis& rows,
                                         const ConstImageView& source, const ImageView& out) {
  const std::int64_t num_values = out.width * out.channels;
  const std::int64_t planes_per_group = kernels_.planes_per_group();
  lay_out_ring(rows, num_values);
  std::int64_t num_ready = 0;  // units
  for (std::int64_t y = 0; y < out.height; ++y) {
    const auto row = static_cast<std::size_t>(y);
    for (; num_ready < rows.first[row] + rows.num_units[row]; num_ready += planes_per_group) {
      const std::int64_t group = num_ready / planes_per_group;
      const SourceRows group_rows = source_group(source, group);
      const Planes planes = ring_group(group);
      if (columns.is_identity) {
        kernels_.interleave(group_rows.data(), num_values, planes.data());
      } else {
        resize_horizontally(columns, source.channels, group_rows, planes);
      }
      if (rows.is_identity) write_group(planes, group * kernels_.rows_per_group, out);
    }
    if (!rows.is_identity) resize_vertically(rows, y, num_values, out.row(y));
  }
}

void TwoPassResize::run_vertical_first(const PackedAxis& columns, const PackedAxis& rows,
                                       const ConstImageView& source, const ImageView& out) {
  const std::int64_t num_values = source.width * source.channels;
  const std::int64_t planes_per_group = kernels_.planes_per_group();
  lay_out_ring(rows, num_values);
  const std::int64_t row_bytes = round_up(num_values, 64);
  std::uint8_t* row_memory =
      row_memory_.get(static_cast<std::size_t>(row_bytes * kernels_.rows_per_group));
  SourceRows group_rows = {};
  Planes planes = {};
  const std::int64_t plane_bytes = padded_plane_bytes(out.width * out.channels);
  std::uint8_t* group_memory =
      group_memory_.get(static_cast<std::size_t>(plane_bytes * planes_per_group));
  for (int i = 0; i < kernels_.rows_per_group; ++i) {
    group_rows[static_cast<std::size_t>(i)] = row_memory + i * row_bytes;
  }
  for (int i = 0; i < planes_per_group; ++i) {
    planes[static_cast<std::size_t>(i)] = group_memory + i * plane_bytes;
  }

  std::int64_t num_ready = 0;  // units
  for (std::int64_t y = 0; y < out.height; ++y) {
    const auto row = static_cast<std::size_t>(y);
    for (; num_ready < rows.first[row] + rows.num_units[row]; num_ready += planes_per_group) {
      const std::int64_t group = num_ready / planes_per_group;
      kernels_.interleave(source_group(source, group).data(), num_values, ring_group(group).data());
    }
    if (columns.is_identity) {
      resize_vertically(rows, y, num_values, out.row(y));
      continue;
    }
    const std::int64_t place = y % kernels_.rows_per_group;
    resize_vertically(rows, y, num_values, row_memory + place * row_bytes);
    if (place == kernels_.rows_per_group - 1 || y == out.height - 1) {
      resize_horizontally(columns, source.channels, group_rows, planes);
      write_group(planes, y - place, out);
    }
  }
}

void TwoPassResize::lay_out_ring(const PackedAxis& rows, std::int64_t num_values) {
  const std::int64_t planes_per_group = kernels_.planes_per_group();
  plane_bytes_ = padded_plane_bytes(num_values);
  // A group is made as a whole, up to planes_per_group - 1 units ahead of need.
  num_ring_planes_ = round_up(rows.max_units + planes_per_group - 1, planes_per_group);
  ring_ = ring_memory_.get(static_cast<std::size_t>(plane_bytes_ * num_ring_planes_));
  resize_with_room(&unit_planes_, static_cast<std::size_t>(rows.max_units));
}

std::int64_t TwoPassResize::padded_plane_bytes(std::int64_t num_values) const {
  return round_up(round_up(num_values, kernels_.value_block) * kernels_.value_bytes + kPlaneSlack,
                  64);
}

TwoPassResize::Planes TwoPassResize::ring_group(std::int64_t group) const {
  const std::int64_t planes_per_group = kernels_.planes_per_group();
  Planes planes = {};
  for (int i = 0; i < planes_per_group; ++i) {
    planes[static_cast<std::size_t>(i)] = ring_plane(group * planes_per_group + i);
  }
  return planes;
}

TwoPassResize::SourceRows TwoPassResize::source_group(const ConstImageView& source,
                                                      std::int64_t group) const {
  SourceRows rows = {};
  for (int i = 0; i < kernels_.rows_per_group; ++i) {
    // Rows beyond the last have weight 0; any row will do.
    const std::int64_t y = group * kernels_.rows_per_group + i;
    rows[static_cast<std::size_t>(i)] = source.row(std::min(y, source.height - 1));
  }
  return rows;
}

void TwoPassResize::resize_vertically(const PackedAxis& rows, std::int64_t y,
                                      std::int64_t num_values, std::uint8_t* out) {
  const auto row = static_cast<std::size_t>(y);
  const std::int64_t num_units = rows.num_units[row];
  for (std::int64_t u = 0; u < num_units; ++u) {
    unit_planes_[static_cast<std::size_t>(u)] = ring_plane(rows.first[row] + u);
  }
  const std::uint32_t* words = rows.words.data() + y * rows.stride;
  kernels_.vertical(unit_planes_.data(), words, num_units, num_values, out);
}

void TwoPassResize::resize_horizontally(const PackedAxis& columns, std::int64_t channels,
                                        const SourceRows& rows, const Planes& planes) {
  HorizontalJob job;
  job.rows = rows.data();
  job.width = columns.source_end - columns.source_begin;
  job.axis = &columns;
  job.planes = planes.data();
  const std::int64_t max_taps = columns.max_units * unit_taps(kernels_.column_layout);
  if (kernels_.rows_per_group > 1) {
    job.scratch =
        spread_memory_.get(static_cast<std::size_t>(horizontal_scratch_bytes(job.width, max_taps)));
  }
  (channels == 1 ? kernels_.horizontal_gray : kernels_.horizontal_rgb)(job);
}

void TwoPassResize::write_group(const Planes& planes, std::int64_t y, const ImageView& out) {
  const std::int64_t num_values = out.width * out.channels;
  Planes rows = {};
  for (int i = 0; i < kernels_.rows_per_group; ++i) {
    rows[static_cast<std::size_t>(i)] =
        y + i < out.height ? out.row(y + i) : spare_row_.get(static_cast<std::size_t>(num_values));
  }
  kernels_.deinterleave(planes.data(), num_values, rows.data());
}

}  // namespace dts
