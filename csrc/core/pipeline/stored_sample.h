// SPDX-License-Identifier: Apache-2.0
// One sample of a batch that is not decoded: where its bytes are, in the BatchBytes of the
// batch's zone. Plain data, as it lies in the zone.
#pragma once

#include <cstdint>

namespace dts {

struct StoredSample {
  std::int64_t address = 0;  // of the first byte; 0: the sample could not be read
  std::int64_t size = 0;     // bytes
  // Of pixels, HWC rows without gaps; height 0: an encoded image, or whatever else was stored.
  std::int64_t height = 0, width = 0, channels = 0;
};

}  // namespace dts
