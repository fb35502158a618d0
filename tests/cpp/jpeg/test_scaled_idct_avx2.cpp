// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"
#include "jpeg/scaled_idct_checks.h"

TEST_CASE("small inverse transforms as the plain loops', avx2 loops") {
  if (dts::best_simd_level() < dts::SimdLevel::kAvx2) return;
  dts::testing::check_scaled_idct(dts::idct_row_4_avx2, dts::idct_row_4_generic, 1);
  dts::testing::check_scaled_idct(dts::idct_row_2_avx2, dts::idct_row_2_generic, 2);
}
