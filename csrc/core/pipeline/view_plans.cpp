// SPDX-License-Identifier: Apache-2.0
#include "pipeline/view_plans.h"

#include <algorithm>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "pipeline/transfer_station.h"

namespace dts {
namespace {

constexpr std::string_view kSeparator = "view";

// The text up to the next separator, which is taken off with it.
std::string_view take_plan(std::string_view& text, bool* is_last) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.substr(at, end - at) == kSeparator) {
      const std::string_view plan = text.substr(0, at);
      text.remove_prefix(std::min(end + 1, text.size()));
      *is_last = false;
      return plan;
    }
    at = end + 1;
  }
  *is_last = true;
  return text;
}

bool has_same_source(const SamplePlan& one, const SamplePlan& other) {
  return one.source_channels == other.source_channels && one.max_pixels == other.max_pixels &&
         one.pass_order == other.pass_order && one.reader == other.reader &&
         one.is_fast == other.is_fast;
}

}  // namespace

std::int64_t ViewPlans::image_bytes() const {
  std::int64_t sum = 0;
  for (const SamplePlan& plan : plans) sum += plan.image_bytes();
  return sum;
}

std::int64_t ViewPlans::num_boxes() const {
  const bool is_any = std::any_of(plans.begin(), plans.end(), [](const SamplePlan& plan) {
    return plan.maybe_erasing && plan.maybe_erasing->deferred;
  });
  return is_any ? num_views() : 0;
}

void ViewPlans::view_offsets(std::int64_t batch_size, std::vector<std::int64_t>& offsets) const {
  offsets.clear();
  std::int64_t end = 0;
  for (const SamplePlan& plan : plans) {
    offsets.push_back(
        static_cast<std::int64_t>(align_up(static_cast<std::uint64_t>(end), kZoneAlignment)));
    end = offsets.back() + batch_size * plan.image_bytes();
  }
}

ViewPlans parse_view_plans(std::string_view text) {
  ViewPlans views;
  for (bool is_last = false; !is_last;) {
    const std::string_view plan = take_plan(text, &is_last);
    if (views.plans.size() == kMaxViews) {
      throw InvalidArgument("plan: found more views, expected at most " +
                            std::to_string(kMaxViews));
    }
    const std::string number = std::to_string(views.plans.size());
    try {
      views.plans.push_back(parse_plan(plan));
    } catch (const InvalidArgument& error) {
      if (views.plans.empty() && is_last) throw;
      throw InvalidArgument("view " + number + ": " + error.what());
    }
    if (!has_same_source(views.plans.front(), views.plans.back())) {
      throw InvalidArgument("view " + number +
                            ": the line 'source' is another one than that of view 0, expected the "
                            "same");
    }
  }
  return views;
}

}  // namespace dts
