// SPDX-License-Identifier: Apache-2.0
// Checks that every set of resize kernels must pass, one function at a time.
#pragma once

#include "image/packed_axis.h"
#include "image/reference_resize.h"
#include "image/resample_kernels.h"

namespace dts::testing {

// One group of rows and its planes, laid out as TwoPassResize does it.
struct Group {
  Group(const ResampleKernels& kernels, std::int64_t num_values) : kernels(kernels) {
    const std::int64_t block = kernels.value_block;
    const std::int64_t padded = (num_values + block - 1) / block * block;
    for (int i = 0; i < kernels.planes_per_group(); ++i) {
      memory.emplace_back(static_cast<std::size_t>(padded * kernels.value_bytes + 16));
      planes.push_back(memory.back().data());
    }
  }
  // The group's rows of bytes, as deinterleave() gives them.
  std::vector<std::vector<std::uint8_t>> rows(std::int64_t num_values) const {
    std::vector<std::vector<std::uint8_t>> all(
        static_cast<std::size_t>(kernels.rows_per_group),
        std::vector<std::uint8_t>(static_cast<std::size_t>(num_values)));
    std::vector<std::uint8_t*> pointers;
    for (auto& row : all) pointers.push_back(row.data());
    kernels.deinterleave(planes.data(), num_values, pointers.data());
    return all;
  }
  const ResampleKernels& kernels;
  std::vector<std::vector<std::uint8_t>> memory;
  std::vector<std::uint8_t*> planes;
};

inline std::vector<const std::uint8_t*> row_pointers(const Picture& picture) {
  std::vector<const std::uint8_t*> rows;
  for (std::int64_t y = 0; y < picture.height; ++y) rows.push_back(picture.at(y, 0));
  return rows;
}

// Rows of every length up to a few blocks come back as they were.
inline void check_interleave(const ResampleKernels& kernels) {
  Random random(11);
  for (std::int64_t width = 1; width < 200; ++width) {
    const Picture picture = random_picture(random, kernels.rows_per_group, width, 1);
    Group group(kernels, width);
    kernels.interleave(row_pointers(picture).data(), width, group.planes.data());
    const auto rows = group.rows(width);
    for (std::int64_t y = 0; y < picture.height; ++y) {
      REQUIRE(std::equal(picture.at(y, 0), picture.at(y, 0) + width,
                         rows[static_cast<std::size_t>(y)].begin()));
    }
  }
}

// Every number of taps, widths from one pixel on; each row in memory of its own size.
inline void check_horizontal(const ResampleKernels& kernels, std::int64_t channels) {
  Random random(12);
  AxisWeights weights;
  for (int round = 0; round < 700; ++round) {
    const std::int64_t width = draw(random, 1, round % 3 == 0 ? 300 : 30);
    const std::int64_t out_width = draw(random, 1, round % 2 == 0 ? 90 : 9);
    const Filter filter = round % 2 == 0 ? Filter::kBilinear : Filter::kLanczos;
    Random pixels(static_cast<std::uint32_t>(round));
    const Picture picture =
        random_picture(pixels, kernels.rows_per_group, width, channels, round % 4 == 0 ? 1 : 0);
    std::vector<Picture> rows;
    std::vector<const std::uint8_t*> pointers;
    for (std::int64_t y = 0; y < picture.height; ++y)
      rows.push_back(cut(picture, {y, 0, 1, width}));
    for (const Picture& row : rows) pointers.push_back(row.at(0, 0));

    compute_weights({filter, width, out_width, 0, out_width}, &weights);
    const OwnedAxis owned(weights, kernels.column_layout, false);
    const PackedAxis& axis = owned.axis;
    Group group(kernels, out_width * channels);
    std::vector<std::uint8_t> scratch(static_cast<std::size_t>(
        horizontal_scratch_bytes(width, axis.max_units * unit_taps(kernels.column_layout))));
    const HorizontalJob job = {.rows = pointers.data(),
                               .width = width,
                               .axis = &axis,
                               .planes = group.planes.data(),
                               .scratch = scratch.data()};
    (channels == 1 ? kernels.horizontal_gray : kernels.horizontal_rgb)(job);
    const Picture expected =
        width == out_width ? picture : resize_columns(picture, filter, out_width);
    const auto found = group.rows(out_width * channels);
    for (std::int64_t y = 0; y < picture.height; ++y) {
      REQUIRE(std::equal(expected.at(y, 0), expected.at(y, 0) + out_width * channels,
                         found[static_cast<std::size_t>(y)].begin()));
    }
  }
}

// Every number of units, rows of every length.
inline void check_vertical(const ResampleKernels& kernels) {
  Random random(13);
  AxisWeights weights;
  for (int round = 0; round < 400; ++round) {
    const std::int64_t height = draw(random, 1, 40), width = draw(random, 1, 150);
    const std::int64_t out_height = draw(random, 1, 60);
    const Filter filter = round % 2 == 0 ? Filter::kBilinear : Filter::kLanczos;
    const Picture picture = random_picture(random, height, width, 1, round % 4 == 0 ? 1 : 0);
    compute_weights({filter, height, out_height, 0, out_height}, &weights);
    const OwnedAxis owned(weights, kernels.row_layout, true);
    const PackedAxis& axis = owned.axis;
    std::vector<Group> groups;
    std::vector<const std::uint8_t*> planes;
    for (std::int64_t y = 0; y < height; y += kernels.rows_per_group) {
      std::vector<const std::uint8_t*> rows;
      for (std::int64_t i = 0; i < kernels.rows_per_group; ++i) {
        rows.push_back(picture.at(std::min(y + i, height - 1), 0));
      }
      groups.emplace_back(kernels, width);
      kernels.interleave(rows.data(), width, groups.back().planes.data());
      for (const std::uint8_t* plane : groups.back().planes) planes.push_back(plane);
    }
    const Picture expected =
        height == out_height ? picture : resize_rows(picture, filter, out_height);
    for (std::int64_t y = 0; y < out_height; ++y) {
      const auto place = static_cast<std::size_t>(y);
      std::vector<std::uint8_t> row(static_cast<std::size_t>(width));
      kernels.vertical(planes.data() + axis.first[place], axis.words.data() + y * axis.stride,
                       axis.num_units[place], width, row.data());
      REQUIRE(std::equal(row.begin(), row.end(), expected.at(y, 0)));
    }
  }
}

inline void check_kernels(const ResampleKernels& kernels) {
  check_interleave(kernels);
  check_horizontal(kernels, 1);
  check_horizontal(kernels, 3);
  check_vertical(kernels);
}

}  // namespace dts::testing
