// SPDX-License-Identifier: Apache-2.0
// What our own decoder would have to do for boxes of a JPEG, to choose between one decoding of
// all that lies around them and one of each.
//
// Input: numbers of the header, and boxes inside of the picture. Thread-safe, no allocation.
#pragma once

#include <cstdint>
#include <span>

#include "base/box.h"
#include "jpeg/coefficients.h"

namespace dts {

// The time to decode boxes one after the other, in units of their own: MCUs that are skipped,
// from the picture's start or the last restart marker, cost half of what those cost that are read.
// `restart_interval` is in MCUs; 0: there are no markers.
std::int64_t decode_cost(const JpegGeometry& geometry, std::int64_t restart_interval,
                         std::span<const Box> boxes);

}  // namespace dts
