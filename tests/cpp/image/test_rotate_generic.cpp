// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "image/rotate_checks.h"

namespace dts {
namespace {

TEST_CASE("rotation kernels, generic: between four pixels") {
  testing::check_kernels(rotate_kernels_generic());
}

}  // namespace
}  // namespace dts
