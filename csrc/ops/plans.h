// SPDX-License-Identifier: Apache-2.0
// Plans from their text, with what the environment says: TORCH_DTS_CHECK_DECODER=1 has every
// image that our own decoder reads decoded by libjpeg, too, and compared. It is read once.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "pipeline/view_plans.h"

namespace dts::ops {

inline bool checks_decoder() {
  static const bool is_set = [] {
    const char* const value = std::getenv("TORCH_DTS_CHECK_DECODER");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return is_set;
}

inline std::shared_ptr<const ViewPlans> with_checks(ViewPlans views) {
  for (SamplePlan& plan : views.plans) plan.checks_reader = checks_decoder();
  return std::make_shared<const ViewPlans>(std::move(views));
}

inline std::shared_ptr<const ViewPlans> plans_of(const std::string& text) {
  return with_checks(parse_view_plans(text));
}

}  // namespace dts::ops
