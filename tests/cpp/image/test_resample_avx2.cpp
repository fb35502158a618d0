// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/kernel_checks.h"

namespace dts {
namespace {

TEST_CASE("resample kernels, avx2: each equals the definition") {
  if (!testing::can_run(SimdLevel::kAvx2)) return;
  testing::check_kernels(resample_kernels_avx2());
}

}  // namespace
}  // namespace dts
