// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/blur_checks.h"

namespace dts {
namespace {

TEST_CASE("blur kernels, avx2: weighted sums of rows") {
  if (!testing::can_run(SimdLevel::kAvx2)) return;
  testing::check_kernels(blur_kernels_avx2());
}

}  // namespace
}  // namespace dts
