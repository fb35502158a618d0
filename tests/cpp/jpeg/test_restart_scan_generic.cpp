// SPDX-License-Identifier: Apache-2.0
#include "jpeg/restart_scan_checks.h"

TEST_CASE("markers in random bytes full of FF, generic loop") {
  dts::testing::check_search(dts::search_markers_generic);
}
