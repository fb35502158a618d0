// SPDX-License-Identifier: Apache-2.0
// A row of probe_files and probe_ranges: kind, bytes, width, height, components.
#pragma once

#include <cstdint>
#include <optional>

#include "jpeg/probe.h"

namespace dts::ops {

// Fills all but the bytes; leaves the row as it is where there is no JPEG.
inline void set_probe_row(const std::optional<JpegInfo>& info, std::int64_t* row) {
  if (!info) return;
  // Pillow opens 8-bit JPEGs only; what it says of others is its own to say.
  row[0] = info->precision == 8 ? 1 : 0;
  row[2] = info->width;
  row[3] = info->height;
  row[4] = info->num_components;
}

}  // namespace dts::ops
