// SPDX-License-Identifier: Apache-2.0
#include "jpeg/entropy_checks.h"

TEST_CASE("codes: loops of the level generic") {
  dts::testing::check_loops(dts::decode_mcus_generic, dts::skip_mcus_generic);
  dts::testing::check_bad_codes(dts::decode_mcus_generic, dts::skip_mcus_generic);
}
