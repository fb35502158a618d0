// SPDX-License-Identifier: Apache-2.0
#include "image/copy.h"

#include <algorithm>

#include "image/copy_kernels.h"
#include "image/simd.h"

namespace dts {

void copy_away(ConstByteSpan from, std::byte* to) {
  static const bool has_avx2 = best_simd_level() != SimdLevel::kGeneric;
  if (has_avx2 && from.size() >= kMinPastCaches) {
    copy_past_caches_avx2(from.data(), from.size(), to);
  } else {
    std::copy(from.begin(), from.end(), to);
  }
}

}  // namespace dts
