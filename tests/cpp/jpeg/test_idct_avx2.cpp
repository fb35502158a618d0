// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"
#include "jpeg/idct_checks.h"

TEST_CASE("inverse transform as the plain loop's, avx2 loop") {
  if (dts::best_simd_level() < dts::SimdLevel::kAvx2) return;
  dts::testing::check_idct(dts::idct_row_avx2);
}
