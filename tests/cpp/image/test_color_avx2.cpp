// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/color_checks.h"

namespace dts {
namespace {

TEST_CASE("colour kernels, avx2: blending, gray and hue") {
  if (!testing::can_run(SimdLevel::kAvx2)) return;
  testing::check_kernels(color_kernels_avx2());
}

}  // namespace
}  // namespace dts
