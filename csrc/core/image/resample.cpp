// SPDX-License-Identifier: Apache-2.0
#include "image/resample.h"

#include <cstring>
#include <string>
#include <vector>

#include "base/error.h"
#include "image/axis_cache.h"
#include "image/resample_nearest.h"
#include "image/two_pass.h"

namespace dts {
namespace {

// Up to here Pillow's single-precision box holds sizes exactly.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 24;

std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

std::string box_text(const Box& box) {
  return size_text(box.width, box.height) + " at (" + std::to_string(box.left) + ", " +
         std::to_string(box.top) + ")";
}

void check_size(const char* name, std::int64_t width, std::int64_t height) {
  if (width >= 1 && height >= 1 && width <= kMaxSize && height <= kMaxSize) return;
  throw InvalidArgument(std::string("resize: ") + name + " is " + size_text(width, height) +
                        ", expected 1 to " + std::to_string(kMaxSize) + " pixels a side");
}

bool is_inside(std::int64_t begin, std::int64_t count, std::int64_t size) {
  return begin >= 0 && count >= 1 && begin < size && count <= size - begin;
}

// All of `size`, or some of it.
bool is_part(double begin, double length, std::int64_t size) {
  if (begin == 0.0 && length == 0.0) return true;
  return begin >= 0.0 && length > 0.0 && begin + length <= static_cast<double>(size);
}

void check_plan(const ResamplePlan& plan) {
  check_size("the source", plan.source_width, plan.source_height);
  check_size("the output", plan.out_width, plan.out_height);
  const SourcePart& part = plan.part;
  if (!is_part(part.left, part.width, plan.source_width) ||
      !is_part(part.top, part.height, plan.source_height)) {
    throw InvalidArgument("resize: the part is not inside of the source " +
                          size_text(plan.source_width, plan.source_height));
  }
  if (part != SourcePart{} && plan.filter == Filter::kNearest) {
    throw InvalidArgument("resize: nearest takes all of the source, not a part");
  }
  const Box& window = plan.window;
  if (is_inside(window.left, window.width, plan.out_width) &&
      is_inside(window.top, window.height, plan.out_height)) {
    return;
  }
  throw InvalidArgument("resize: the window " + box_text(window) + " is not inside of the output " +
                        size_text(plan.out_width, plan.out_height));
}

void check_view(const char* name, const ConstImageView& view, std::int64_t width,
                std::int64_t height) {
  if (view.width != width || view.height != height) {
    throw InvalidArgument(std::string("resize: ") + name + " is " +
                          size_text(view.width, view.height) + ", the plan's is " +
                          size_text(width, height));
  }
  if (view.channels != 1 && view.channels != 3) {
    throw InvalidArgument(std::string("resize: ") + name + " has " + std::to_string(view.channels) +
                          " channels, expected 1 or 3");
  }
}

Axis horizontal_axis(const ResamplePlan& plan) {
  return {plan.filter,       plan.source_width, plan.out_width, plan.window.left,
          plan.window.width, plan.part.left,    plan.part.width};
}

Axis vertical_axis(const ResamplePlan& plan) {
  return {plan.filter,        plan.source_height, plan.out_height, plan.window.top,
          plan.window.height, plan.part.top,      plan.part.height};
}

bool is_vertical_first(PassOrder order, const ResamplePlan& plan) {
  const std::int64_t rows_less = plan.source_height - plan.out_height;
  const std::int64_t columns_less = plan.source_width - plan.out_width;
  switch (order) {
    case PassOrder::kHorizontalFirst:
      break;
    case PassOrder::kVerticalIfVeryTall:
      return rows_less > 0 && plan.source_height > plan.source_width * 100;
    case PassOrder::kVerticalIfShrunkMore:
      return rows_less > 0 && rows_less > columns_less * 2;
  }
  return false;
}

}  // namespace

struct Resampler::State {
  State(const ResampleKernels& kernels, PassOrder pass_order)
      : pass_order(pass_order),
        columns(kernels.column_layout, /*aligned=*/false),
        rows(kernels.row_layout, /*aligned=*/true),
        two_pass(kernels) {}

  Box source_box(const ResamplePlan& plan);

  const PassOrder pass_order;
  AxisCache columns, rows;
  TwoPassResize two_pass;
  std::vector<std::int32_t> nearest_columns, nearest_rows;
};

Box Resampler::State::source_box(const ResamplePlan& plan) {
  const Axis x = horizontal_axis(plan), y = vertical_axis(plan);
  if (plan.filter == Filter::kNearest) {
    nearest_positions(x, &nearest_columns);
    nearest_positions(y, &nearest_rows);
    return {nearest_rows.front(), nearest_columns.front(),
            nearest_rows.back() - nearest_rows.front() + 1,
            nearest_columns.back() - nearest_columns.front() + 1};
  }
  const PackedAxis& column_weights = columns.get(x);
  const PackedAxis& row_weights = rows.get(y);
  return {row_weights.source_begin, column_weights.source_begin,
          row_weights.source_end - row_weights.source_begin,
          column_weights.source_end - column_weights.source_begin};
}

Resampler::Resampler(SimdLevel level, PassOrder pass_order) {
  check_simd_level(level);
  state_ = std::make_unique<State>(resample_kernels(level), pass_order);
}

Resampler::~Resampler() = default;

ResamplePlan Resampler::plan(Filter filter, std::int64_t source_width, std::int64_t source_height,
                             std::int64_t out_width, std::int64_t out_height, const Box& window,
                             const SourcePart& part) {
  ResamplePlan plan = {filter, source_width, source_height, out_width, out_height,
                       window, {},           part};
  check_plan(plan);
  plan.source_box = state_->source_box(plan);
  return plan;
}

void Resampler::run(const ResamplePlan& plan, const ConstImageView& source, const ImageView& out) {
  check_plan(plan);
  check_view("the source", source, plan.source_box.width, plan.source_box.height);
  check_view("the output", out, plan.window.width, plan.window.height);
  if (source.channels != out.channels) {
    throw InvalidArgument("resize: " + std::to_string(source.channels) + " channels to " +
                          std::to_string(out.channels));
  }
  // A plan made by hand, or by another resampler, is checked like any other.
  if (state_->source_box(plan) != plan.source_box) {
    throw InvalidArgument("resize: the plan's source box is " + box_text(plan.source_box) +
                          ", not what plan() gives");
  }
  if (plan.filter == Filter::kNearest) {
    copy_nearest(source, state_->nearest_rows, plan.source_box.top, state_->nearest_columns,
                 plan.source_box.left, out);
  } else if (is_identity(horizontal_axis(plan)) && is_identity(vertical_axis(plan))) {
    for (std::int64_t y = 0; y < out.height; ++y) {
      std::memcpy(out.row(y), source.row(y), static_cast<std::size_t>(out.width * out.channels));
    }
  } else {
    state_->two_pass.run(state_->columns.get(horizontal_axis(plan)),
                         state_->rows.get(vertical_axis(plan)),
                         is_vertical_first(state_->pass_order, plan), source, out);
  }
}

std::size_t Resampler::held_bytes() const {
  const State& s = *state_;
  return s.columns.held_bytes() + s.rows.held_bytes() + s.two_pass.held_bytes() +
         (s.nearest_columns.capacity() + s.nearest_rows.capacity()) * sizeof(std::int32_t);
}

void Resampler::release() {
  State& s = *state_;
  s.columns.release();
  s.rows.release();
  s.two_pass.release();
  s.nearest_columns = std::vector<std::int32_t>();
  s.nearest_rows = std::vector<std::int32_t>();
}

}  // namespace dts
