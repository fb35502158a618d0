// SPDX-License-Identifier: Apache-2.0
#include "jpeg/restart_interval.h"

#include "base/error.h"
#include "support.h"

using dts::choose_restart_interval;
using dts::mcus_per_row;

TEST_CASE("auto is the smallest divisor of the row from 2 to 6") {
  const std::pair<int, int> cases[] = {{2, 2},  {3, 3},  {4, 2},  {5, 5},    {6, 2},
                                       {15, 3}, {25, 5}, {35, 5}, {1250, 2}, {4095, 3}};
  for (const auto& [row, interval] : cases) {
    CAPTURE(row);
    CHECK(choose_restart_interval(dts::kAutoRestartInterval, row) == interval);
  }
}

TEST_CASE("rows without such a divisor: 1 for short ones, else the row") {
  for (const int row : {1, 7, 11, 13, 37}) {
    CAPTURE(row);
    CHECK(choose_restart_interval(dts::kAutoRestartInterval, row) == 1);
  }
  for (const int row : {41, 43, 49, 8191}) {
    CAPTURE(row);
    CHECK(choose_restart_interval(dts::kAutoRestartInterval, row) == row);
  }
}

TEST_CASE("numbers are taken as they are, up to what the format holds") {
  CHECK(choose_restart_interval(1, 7) == 1);
  CHECK(choose_restart_interval(9, 4) == 9);
  CHECK(choose_restart_interval(65535, 4) == 65535);
  CHECK(choose_restart_interval(65536, 4) == 65535);
  CHECK(choose_restart_interval(INT64_MAX, 4) == 65535);
  CHECK(choose_restart_interval(dts::kNoRestartMarkers, 4) == 0);
}

TEST_CASE("other numbers are refused") {
  for (const std::int64_t wrong : {std::int64_t{-2}, INT64_MIN}) {
    dts::testing::check_message<dts::InvalidArgument>(
        [wrong] { choose_restart_interval(wrong, 4); },
        "restart_interval is " + std::to_string(wrong) +
            ", expected MCUs from 1 on, 0 (auto) or -1 (no markers)");
  }
}

TEST_CASE("MCUs are as wide as the sampling makes them, 8 pixels in a scan of one") {
  CHECK(mcus_per_row(1, 2, 3) == 1);
  CHECK(mcus_per_row(16, 2, 3) == 1);
  CHECK(mcus_per_row(17, 2, 3) == 2);
  CHECK(mcus_per_row(640, 2, 3) == 40);
  CHECK(mcus_per_row(640, 4, 3) == 20);
  CHECK(mcus_per_row(640, 1, 4) == 80);
  CHECK(mcus_per_row(17, 2, 1) == 3);
  CHECK(mcus_per_row(65500, 1, 3) == 8188);
}
