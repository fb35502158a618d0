// SPDX-License-Identifier: Apache-2.0
#include "pipeline/view_plans.h"

#include <string>

#include "pipeline/transfer_station.h"
#include "support.h"

using dts::parse_view_plans;
using dts::testing::check_message;

namespace {

std::string plan(int side, int dtype = 0, const std::string& source = "channels=3") {
  const std::string size = "height=" + std::to_string(side) + " width=" + std::to_string(side);
  return "source " + source + " max_pixels=0 pass_order=2\ncenter_crop " + size + "\noutput " +
         size + " channels=" + source.back() + " dtype=" + std::to_string(dtype) +
         " layout=0 scale=0\n";
}

}  // namespace

TEST_CASE("a text has the plan of one view, or of several with a line between them") {
  const dts::ViewPlans one = parse_view_plans(plan(5));
  CHECK(one.num_views() == 1);
  CHECK(one.image_bytes() == 75);
  const dts::ViewPlans three =
      parse_view_plans(plan(5) + "view\n" + plan(2, 1) + "view\n" + plan(3));
  REQUIRE(three.num_views() == 3);
  CHECK(three.plans[0].height == 5);
  CHECK(three.plans[1].height == 2);
  CHECK(three.plans[2].height == 3);
  CHECK(three.image_bytes() == 75 + 48 + 27);
}

TEST_CASE("images of each view begin at 256 and stay inside of their zone") {
  const auto station = dts::TransferStation::make();
  std::vector<std::int64_t> offsets;
  for (const std::int64_t batch : {1, 3, 64, 1000}) {
    const dts::ViewPlans views =
        parse_view_plans(plan(5) + "view\n" + plan(2, 1) + "view\n" + plan(1));
    views.view_offsets(batch, offsets);
    REQUIRE(offsets.size() == 3);
    CHECK(offsets[0] == 0);
    const std::int64_t sizes[] = {75, 48, 3};
    const auto zone = station->acquire({batch, views.image_bytes(), views.num_views()});
    for (std::size_t view = 0; view < 3; ++view) {
      CHECK(offsets[view] % 256 == 0);
      if (view > 0) CHECK(offsets[view] >= offsets[view - 1] + batch * sizes[view - 1]);
      if (view > 0) CHECK(offsets[view] < offsets[view - 1] + batch * sizes[view - 1] + 256);
      std::fill_n(zone->images() + offsets[view], batch * sizes[view], std::byte{1});
    }
    CHECK(zone->guard_is_whole());
  }
}

TEST_CASE("errors name the view") {
  check_message<dts::InvalidArgument>([] { parse_view_plans(""); },
                                      "plan: found no line 'output', expected one");
  check_message<dts::InvalidArgument>([] { parse_view_plans(plan(5) + "view\n"); },
                                      "view 1: plan: found no line 'output', expected one");
  check_message<dts::InvalidArgument>([] { parse_view_plans("view\n" + plan(5)); },
                                      "view 0: plan: found no line 'output', expected one");
  check_message<dts::InvalidArgument>(
      [] { parse_view_plans(plan(5) + "view\n" + plan(5, 0, "channels=1")); },
      "view 1: the line 'source' is another one than that of view 0, expected the same");
  std::string many = plan(1);
  for (int i = 1; i < 256; ++i) many += "view\n" + plan(1);
  CHECK(parse_view_plans(many).num_views() == 256);
  check_message<dts::InvalidArgument>([&] { parse_view_plans(many + "view\n" + plan(1)); },
                                      "plan: found more views, expected at most 256");
}
