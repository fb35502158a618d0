// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"
#include "jpeg/unstuff_checks.h"

TEST_CASE("unstuff, AVX2") {
  if (dts::best_simd_level() == dts::SimdLevel::kGeneric) return;
  dts::testing::check_unstuffing(dts::unstuff_avx2);
}
