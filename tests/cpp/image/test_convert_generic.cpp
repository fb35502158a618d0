// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/convert_checks.h"

namespace dts {
namespace {

TEST_CASE("convert kernels, generic: pixels taken apart, turned round, made values") {
  if (!testing::can_run(SimdLevel::kGeneric)) return;
  testing::check_kernels(convert_kernels_generic());
}

}  // namespace
}  // namespace dts
