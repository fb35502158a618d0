// SPDX-License-Identifier: Apache-2.0
#include "jpeg/restart_interval.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace dts {
namespace {

constexpr std::int64_t kMaxInterval = 65535;
constexpr std::int64_t kFirstDivisor = 2, kLastDivisor = 6;
// Two bytes and the rest of a byte for each MCU of longer rows would be too dear.
constexpr std::int64_t kShortRow = 40;
constexpr std::int64_t kBlockWidth = 8;

}  // namespace

std::int64_t mcus_per_row(std::int64_t width, int max_h_samp, int num_components) {
  const std::int64_t mcu_width = num_components == 1 ? kBlockWidth : kBlockWidth * max_h_samp;
  return (width + mcu_width - 1) / mcu_width;
}

std::int64_t choose_restart_interval(std::int64_t requested, std::int64_t mcus_per_row) {
  if (requested < kNoRestartMarkers) {
    throw InvalidArgument("restart_interval is " + std::to_string(requested) +
                          ", expected MCUs from 1 on, 0 (auto) or -1 (no markers)");
  }
  if (requested == kNoRestartMarkers) return 0;
  if (requested != kAutoRestartInterval) return std::min(requested, kMaxInterval);
  for (std::int64_t divisor = kFirstDivisor; divisor <= kLastDivisor; ++divisor) {
    if (mcus_per_row % divisor == 0) return divisor;
  }
  return mcus_per_row <= kShortRow ? 1 : mcus_per_row;
}

}  // namespace dts
