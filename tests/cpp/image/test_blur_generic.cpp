// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/blur_checks.h"

namespace dts {
namespace {

TEST_CASE("blur kernels, generic: weighted sums of rows") {
  testing::check_kernels(blur_kernels_generic());
}

}  // namespace
}  // namespace dts
