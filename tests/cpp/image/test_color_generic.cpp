// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/color_checks.h"

namespace dts {
namespace {

TEST_CASE("colour kernels, generic: blending, gray and hue") {
  testing::check_kernels(color_kernels_generic());
}

}  // namespace
}  // namespace dts
