// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"
#include "jpeg/restart_scan_checks.h"

TEST_CASE("markers in random bytes full of FF, avx2 loop") {
  if (dts::best_simd_level() < dts::SimdLevel::kAvx2) return;
  dts::testing::check_search(dts::search_markers_avx2);
}
