// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/rotate_checks.h"

namespace dts {
namespace {

TEST_CASE("rotation kernels, avx2: between four pixels") {
  if (!testing::can_run(SimdLevel::kAvx2)) return;
  testing::check_kernels(rotate_kernels_avx2());
}

}  // namespace
}  // namespace dts
