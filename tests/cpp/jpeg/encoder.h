// SPDX-License-Identifier: Apache-2.0
// Makes JPEGs of every kind libjpeg can write, and decodes them whole in the plainest
// way, as what the decoder under test must equal.
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <vector>

// jpeglib.h needs FILE and size_t declared before it.
#include <jpeglib.h>

#include "base/bytes.h"
#include "image/view.h"
#include "jpeg/odd_images.h"

namespace dts::testing {

// Sampling factors of each component, {horizontal, vertical}.
using Sampling = std::vector<std::array<int, 2>>;

struct Kind {
  std::string name;
  Sampling sampling = {{1, 1}, {1, 1}, {1, 1}};
  J_COLOR_SPACE input = JCS_RGB;  // of the pixels made up
  J_COLOR_SPACE stored = JCS_YCbCr;
  bool progressive = false;
  bool arithmetic = false;
  bool one_scan_each = false;  // sequential, components not interleaved
  bool only_low = false;       // progressive, nothing but the ten lowest frequencies
  bool unfinished = false;     // progressive without its last refinements
  int restart_interval = 0;
  int quality = 88;
};

// All samplings times the codings that make libjpeg take another path.
std::vector<Kind> every_kind();

// Different for each `state`, which it moves on.
unsigned next_random(std::uint64_t& state, unsigned below);

// A picture of gradients, edges and noise, another for each seed.
Bytes encode(const Kind& kind, int width, int height, unsigned seed = 1);

// The whole picture: libjpeg from the first row to the last, CMYK by Pillow's formula.
struct Decoded {
  std::vector<std::uint8_t> pixels;
  std::int64_t width = 0, height = 0, channels = 3;
};

// At 1 / 2^halvings of its size, then with plain upsampling.
Decoded decode_whole(const Bytes& data, bool as_gray = false, int halvings = 0);

// Rows of `view` that differ from the box of `whole`; -1 for another shape.
std::int64_t count_wrong(const ConstImageView& view, const Decoded& whole, const Box& box);

}  // namespace dts::testing
