// SPDX-License-Identifier: Apache-2.0
// What the environment says: TORCH_DTS_CHECK_DECODER=1 has every image that our own decoder reads
// decoded by libjpeg, too, and compared. It is read once.
#pragma once

#include <cstdlib>
#include <string_view>

namespace dts::ops {

inline bool checks_decoder() {
  static const bool is_set = [] {
    const char* const value = std::getenv("TORCH_DTS_CHECK_DECODER");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return is_set;
}

}  // namespace dts::ops
