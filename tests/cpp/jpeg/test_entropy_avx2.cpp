// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"
#include "jpeg/entropy_checks.h"

TEST_CASE("codes: loops of the level avx2") {
  if (dts::best_simd_level() < dts::SimdLevel::kAvx2) return;
  dts::testing::check_loops(dts::decode_mcus_avx2, dts::skip_mcus_avx2);
  dts::testing::check_bad_codes(dts::decode_mcus_avx2, dts::skip_mcus_avx2);
}
