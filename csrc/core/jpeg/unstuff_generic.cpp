// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "jpeg/unstuff_kernels.h"

namespace dts {

bool unstuff_generic(Unstuffing& work, const std::uint8_t* stop) {
  while (work.source < stop) {
    const auto size = static_cast<std::size_t>(stop - work.source);
    const void* const found = std::memchr(work.source, 0xFF, size);
    const std::size_t plain =
        found == nullptr
            ? size
            : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - work.source);
    std::memcpy(work.target, work.source, plain);
    work.source += plain;
    work.target += plain;
    if (found == nullptr) return true;
    if (work.end - work.source > 1 && work.source[1] == 0) {
      *work.target++ = 0xFF;
      work.source += 2;
    } else {
      const auto* const code =
          std::find_if(work.source, work.end, [](std::uint8_t byte) { return byte != 0xFF; });
      if (code != work.end) return false;
      work.source = work.end;
    }
  }
  return true;
}

}  // namespace dts
