// SPDX-License-Identifier: Apache-2.0
// A set of three small volumes: five, two and two samples in two, one and two blocks.
#pragma once

#include <string>
#include <vector>

#include "format/small_file.h"

namespace dts::testing {

// Source index by stored index of the whole set.
inline const std::vector<std::uint32_t> kSetOrder = {7, 1, 4, 0, 5, 8, 2, 6, 3};
inline const std::vector<std::int32_t> kStoredLabels = {2, 0, 2, 0, 1, 1, 2, 0, 1};

inline SmallFile small_volume(std::uint32_t number, bool is_old = false) {
  SmallFile file = small_old_file();
  if (number == 1) file.blocks = {{{noise(200, 6), 1}, {noise(10, 7), 2}}};
  if (number == 2) file.blocks = {{{noise(700, 8), 0}}, {{noise(1, 9), 1}}};
  file.header.num_volumes = 3;
  file.header.volume_id = number;
  file.header.num_blocks = static_cast<std::uint32_t>(file.blocks.size());
  file.header.num_samples = number == 0 ? 5 : 2;
  file.header.total_blocks = file.header.num_blocks;
  file.header.block_bytes = std::uint64_t{file.header.num_blocks} << 24;
  file.header.total_bytes = kArea + file.header.block_bytes;
  if (is_old) return file;
  const auto first = kSetOrder.begin() + (number == 0 ? 0 : number == 1 ? 5 : 7);
  file.add_tables({first, first + file.header.num_samples});
  file.add_head();
  return file;
}

struct SmallSet {
  explicit SmallSet(bool is_old = false) {
    for (std::uint32_t v = 0; v < 3; ++v) files.push_back(small_volume(v, is_old));
  }

  // Writes them as 0.dts, 1.dts, 2.dts; returns the paths.
  std::vector<std::string> write() {
    std::vector<std::string> paths;
    for (std::size_t v = 0; v < files.size(); ++v) {
      paths.push_back(dir / (std::to_string(v) + ".dts"));
      files[v].write(paths.back());
    }
    return paths;
  }

  // By stored index of the set.
  std::vector<SmallSample> samples() const {
    std::vector<SmallSample> all;
    for (const SmallFile& file : files) {
      for (const auto& block : file.blocks) all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  }

  TempDir dir;
  std::vector<SmallFile> files;
};

}  // namespace dts::testing
