// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/kernel_checks.h"

namespace dts {
namespace {

TEST_CASE("resample kernels, avx512: each equals the definition") {
  if (!testing::can_run(SimdLevel::kAvx512)) return;
  testing::check_kernels(resample_kernels_avx512());
}

}  // namespace
}  // namespace dts
