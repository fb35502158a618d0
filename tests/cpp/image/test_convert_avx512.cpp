// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/convert_checks.h"

namespace dts {
namespace {

TEST_CASE("convert kernels, avx512: pixels taken apart, turned round, made values") {
  if (!testing::can_run(SimdLevel::kAvx512)) return;
  testing::check_kernels(convert_kernels_avx512());
}

}  // namespace
}  // namespace dts
