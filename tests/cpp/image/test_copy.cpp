// SPDX-License-Identifier: Apache-2.0
#include "image/copy.h"

#include "image/copy_checks.h"

TEST_CASE("copies of any size arrive whole") {
  dts::testing::check_copies(
      {0, 1, 100, dts::kMinPastCaches - 1, dts::kMinPastCaches, dts::kMinPastCaches + 777},
      [](dts::ConstByteSpan from, std::byte* to) { dts::copy_away(from, to); });
}
