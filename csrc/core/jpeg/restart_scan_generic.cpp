// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "jpeg/restart_scan_kernels.h"

namespace dts {

void search_markers_generic(MarkerSearch& search) {
  const std::uint8_t* const data = search.data;
  std::size_t at = search.position;
  while (at < search.size) {
    const void* const found = std::memchr(data + at, 0xFF, search.size - at);
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data);
    if (at + 1 == search.size) break;
    if (data[at + 1] == 0xFF) {
      ++at;  // a fill byte
    } else if (data[at + 1] == 0 || search.passes(at)) {
      at += 2;
    } else {
      search.position = at;
      return;
    }
  }
  search.position = search.size;
}

}  // namespace dts
