// SPDX-License-Identifier: Apache-2.0
// How many MCUs (the units of a JPEG's scan) lie between two restart markers. A crop is
// decoded from whole segments only if they line up with the rows. Pure functions,
// thread-safe.
#pragma once

#include <cstdint>

namespace dts {

// What callers ask for instead of a number of MCUs.
inline constexpr std::int64_t kAutoRestartInterval = 0;
inline constexpr std::int64_t kNoRestartMarkers = -1;

// Of the only scan. `max_h_samp`: the largest horizontal sampling factor. A scan of one
// component has MCUs of 8 x 8 pixels whatever its factors.
std::int64_t mcus_per_row(std::int64_t width, int max_h_samp, int num_components);

// The interval to write, 0 for no markers. Auto: the smallest divisor of the row from 2
// to 6; where there is none, 1 for a row of at most 40 MCUs, else the row. Numbers are
// capped at the format's 65535. InvalidArgument: below kNoRestartMarkers.
std::int64_t choose_restart_interval(std::int64_t requested, std::int64_t mcus_per_row);

}  // namespace dts
