// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"
#include "jpeg/rgb_checks.h"

TEST_CASE("samples to RGB as the plain loops', avx2 loops") {
  if (dts::best_simd_level() < dts::SimdLevel::kAvx2) return;
  dts::testing::check_rgb(dts::rgb_kernels_avx2());
  dts::testing::check_every_chroma(dts::rgb_kernels_avx2());
}
