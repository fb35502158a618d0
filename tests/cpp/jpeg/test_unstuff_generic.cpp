// SPDX-License-Identifier: Apache-2.0
#include "jpeg/unstuff_checks.h"

TEST_CASE("unstuff, generic") { dts::testing::check_unstuffing(dts::unstuff_generic); }
