// SPDX-License-Identifier: Apache-2.0
// Plans from their text, with what the environment says of decoders.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "ops/decoder_checks.h"
#include "pipeline/view_plans.h"

namespace dts::ops {

inline std::shared_ptr<const ViewPlans> with_checks(ViewPlans views) {
  for (SamplePlan& plan : views.plans) plan.checks_reader = checks_decoder();
  return std::make_shared<const ViewPlans>(std::move(views));
}

inline std::shared_ptr<const ViewPlans> plans_of(const std::string& text) {
  return with_checks(parse_view_plans(text));
}

}  // namespace dts::ops
