// SPDX-License-Identifier: Apache-2.0
// The end of a file that is all of its set.
#pragma once

#include "format/writer.h"

namespace dts::testing {

inline void finish(Writer& writer, std::uint32_t max_pic_area, std::uint64_t source_bytes) {
  writer.seal(max_pic_area, source_bytes, 0);
  writer.publish();
}

}  // namespace dts::testing
