// SPDX-License-Identifier: Apache-2.0
// What one launch of the fused tail works on. It goes with the launch by value, 3.2 KB, so that
// nothing has to be copied or kept for it and a graph that captured it can be replayed.
// Plain data; the memory it points to is the caller's.
#pragma once

#include <algorithm>
#include <cstdint>

#include "image/convert_kernels.h"

namespace dts::cuda {

inline constexpr int kMaxChannels = 3;

struct NormalizeJob {
  const std::uint8_t* images = nullptr;  // [count, height, width, channels]
  const bool* flips = nullptr;           // [count] or null
  const std::int64_t* boxes = nullptr;   // [count, 4] (top, left, height, width) or null
  void* out = nullptr;
  std::int64_t count = 0;
  int height = 0, width = 0;
  int channels = 0;                // 1 or 3
  int out_channels = 0;            // channels, or 4 of 3: zeros
  bool uses_formula = false;       // its constants give the table's values, bit for bit
  float table[kMaxChannels][256];  // the value of each byte
  float constants[kMaxChannels][kNumConstants];
  float erase_values[kMaxChannels];  // what boxes hold
  // How an image is cut into tiles: cut_tiles().
  int tile_rows = 0, tile_columns = 0, tiles_down = 0, tiles_across = 0;
};

inline constexpr int kTileBytes = 12 * 1024;  // several of them fit into a processor's memory

// Whole rows where one fits; else pieces of a row, of a multiple of 16 pixels so that they begin
// at 16-byte words.
inline void cut_tiles(NormalizeJob& job) {
  const int row_pixels = kTileBytes / job.channels;
  const bool fits = job.width <= row_pixels;
  job.tile_columns = fits ? job.width : row_pixels / 16 * 16;
  job.tile_rows = fits ? std::min(row_pixels / job.width, job.height) : 1;
  job.tiles_down = (job.height + job.tile_rows - 1) / job.tile_rows;
  job.tiles_across = (job.width + job.tile_columns - 1) / job.tile_columns;
}

inline std::int64_t num_tiles(const NormalizeJob& job) {
  return job.count * job.tiles_down * job.tiles_across;
}

}  // namespace dts::cuda
