// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/kernel_checks.h"

namespace dts {
namespace {

TEST_CASE("resample kernels, generic: each equals the definition") {
  if (!testing::can_run(SimdLevel::kGeneric)) return;
  testing::check_kernels(resample_kernels_generic());
}

}  // namespace
}  // namespace dts
