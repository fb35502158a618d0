// SPDX-License-Identifier: Apache-2.0
// The plans of one sample's views: several results that are made of one decoding, each
// with random choices of its own, and how their images lie in a batch. Plain data.
//
// As text: the plan of each view, with a line `view` between two of them. A text without
// that line is the plan of one view.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pipeline/sample_plan.h"

namespace dts {

// docs/format.md section 5: the view's number has 8 bits.
inline constexpr std::size_t kMaxViews = 256;

struct ViewPlans {
  std::vector<SamplePlan> plans;  // at least one; of the same kind of source

  std::int64_t num_views() const { return static_cast<std::int64_t>(plans.size()); }
  // Of one sample, all views together.
  std::int64_t image_bytes() const;
  // Views whose erased boxes come beside the images: all, if any view's are deferred.
  std::int64_t num_boxes() const;
  // A batch holds the images of view 0, then those of view 1, and so on; each view's begin
  // at a multiple of 256. Where a view's images begin, from the first view's.
  void view_offsets(std::int64_t batch_size, std::vector<std::int64_t>& offsets) const;
};

// InvalidArgument: as parse_plan, with the view's number; more than kMaxViews; views that
// differ in their line `source`.
ViewPlans parse_view_plans(std::string_view text);

}  // namespace dts
