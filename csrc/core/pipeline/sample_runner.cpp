// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_runner.h"

#include <algorithm>

#include "base/error.h"
#include "image/blur.h"
#include "image/color.h"
#include "image/fused_normalize.h"
#include "image/rotate.h"
#include "jpeg/common_kind.h"
#include "pipeline/sample_canvas.h"
#include "pipeline/sample_erasing.h"
#include "pipeline/step_sizes.h"

namespace dts {
namespace {

std::string size_text(const ImageSize& size) {
  return std::to_string(size.width) + " x " + std::to_string(size.height);
}

bool has_pixels(const std::array<std::int64_t, 4>& padding) {
  return std::any_of(padding.begin(), padding.end(), [](std::int64_t side) { return side != 0; });
}

ChoiceKey view_key(const ChoiceKey& sample_key, std::size_t view) {
  ChoiceKey key = sample_key;
  key.view += static_cast<std::uint32_t>(view);
  return key;
}

}  // namespace

struct SampleRunner::State {
  explicit State(std::shared_ptr<const ViewPlans> shared_views)
      : views(std::move(shared_views)),
        keep_gray(std::all_of(views->plans.begin(), views->plans.end(), can_keep_gray)),
        canvas(views->plans.front().pass_order, views->plans.front().is_fast) {
    normalizers.reserve(views->plans.size());
    for (const SamplePlan& plan : views->plans) normalizers.emplace_back(plan.tail);
  }

  void check_outs(std::size_t num_outs) const;
  DecodeStatus decode_once(const ChoiceKey& sample_key);
  DecodeStatus run_views(const ChoiceKey& sample_key, std::span<void* const> outs);
  DecodeStatus run_steps(const SamplePlan& plan, ChoiceKey& key);
  DecodeStatus outline(ChoiceKey key, SampleOutline* outline);
  DecodeStatus run_view(std::size_t view, ChoiceKey key, void* out);
  DecodeStatus apply(const Step& step, const ChoiceKey& key);
  DecodeStatus resized_crop(const Step& step, const ChoiceKey& key);
  DecodeStatus random_crop(const Step& step, const ChoiceKey& key);
  DecodeStatus padded_crop(const Box& box, PadMode mode, std::span<const std::uint8_t> fill);
  DecodeStatus jitter(const Step& step, const ChoiceKey& key);
  DecodeStatus gray(std::int64_t channels);
  DecodeStatus rotate(const Step& step, const ChoiceKey& key);
  DecodeStatus blur(const Step& step, const ChoiceKey& key);

  std::shared_ptr<const ViewPlans> views;
  bool keep_gray;
  SampleCanvas canvas;
  std::vector<FusedNormalize> normalizers;
  Stores stores = Stores::kCached;
};

void SampleRunner::State::check_outs(std::size_t num_outs) const {
  if (num_outs == normalizers.size()) return;
  throw InvalidArgument("there are " + std::to_string(num_outs) + " places for " +
                        std::to_string(normalizers.size()) + " views, expected as many");
}

// Each view's crop, then the pixels that any of them needs. What a plan can't do to this image
// is mostly found before anything is decoded.
DecodeStatus SampleRunner::State::decode_once(const ChoiceKey& sample_key) {
  ConstImageView pixels;
  bool flip = false;
  for (std::size_t view = 0; view < normalizers.size(); ++view) {
    canvas.survey();
    ChoiceKey key = view_key(sample_key, view);
    DecodeStatus status = run_steps(views->plans[view], key);
    if (status == DecodeStatus::kOk) status = canvas.finish(&pixels, &flip);
    if (!canvas.has_surveyed()) return status;
  }
  return canvas.decode_surveyed();
}

// The canvas is open. One view decodes what it needs when it needs it.
DecodeStatus SampleRunner::State::run_views(const ChoiceKey& sample_key,
                                            std::span<void* const> outs) {
  if (canvas.is_encoded() && outs.size() > 1) {
    const DecodeStatus status = decode_once(sample_key);
    if (status != DecodeStatus::kOk) return status;
  }
  for (std::size_t view = 0; view < outs.size(); ++view) {
    canvas.rewind();
    const DecodeStatus status = run_view(view, view_key(sample_key, view), outs[view]);
    if (status != DecodeStatus::kOk) return status;
  }
  return DecodeStatus::kOk;
}

// Up to an image of the result's size.
DecodeStatus SampleRunner::State::run_steps(const SamplePlan& plan, ChoiceKey& key) {
  for (const Step& step : plan.steps) {
    key.op = step.op;
    const DecodeStatus status = apply(step, key);
    if (status != DecodeStatus::kOk) return status;
  }
  const ImageSize wanted = {plan.height, plan.width};
  if (canvas.size() != wanted) {
    return canvas.refuse("the transform gives an image of " + size_text(canvas.size()) +
                         " pixels, expected " + size_text(wanted) + " like the others");
  }
  return DecodeStatus::kOk;
}

// The canvas is open.
DecodeStatus SampleRunner::State::outline(ChoiceKey key, SampleOutline* outline) {
  const SamplePlan& plan = views->plans.front();
  canvas.survey();
  const DecodeStatus status = run_steps(plan, key);
  if (status != DecodeStatus::kOk) return status;
  const FusedGeometry* const geometry = canvas.surveyed_geometry();
  const bool has_values = plan.maybe_erasing && plan.maybe_erasing->random_values;
  if (geometry == nullptr || !can_outline(*geometry) || has_values) {
    return canvas.refuse("the transform is more than a bilinear resize of a part of the image");
  }
  *outline = outline_of(*geometry);
  if (!plan.maybe_erasing) return status;
  key.op = plan.maybe_erasing->op;
  const Box box = choose_erased_box(*plan.maybe_erasing, key, plan.height, plan.width);
  outline->erase_top = static_cast<std::int32_t>(box.top);
  outline->erase_left = static_cast<std::int32_t>(box.left);
  outline->erase_height = static_cast<std::int32_t>(box.height);
  outline->erase_width = static_cast<std::int32_t>(box.width);
  return status;
}

DecodeStatus SampleRunner::State::run_view(std::size_t view, ChoiceKey key, void* out) {
  const SamplePlan& plan = views->plans[view];
  ConstImageView pixels;
  bool flip = false;
  DecodeStatus status = run_steps(plan, key);
  if (status == DecodeStatus::kOk) status = canvas.finish(&pixels, &flip);
  if (status != DecodeStatus::kOk) return status;
  const FusedNormalize& normalize = normalizers[view];
  normalize.run(pixels, flip, out, stores);
  if (plan.maybe_erasing && !plan.maybe_erasing->deferred) {
    key.op = plan.maybe_erasing->op;
    erase_randomly(*plan.maybe_erasing, normalize, key, plan.height, plan.width, out);
  }
  return status;
}

DecodeStatus SampleRunner::State::apply(const Step& step, const ChoiceKey& key) {
  ImageView pixels;
  switch (step.kind) {
    case StepKind::kResizedCrop:
      return resized_crop(step, key);
    case StepKind::kResize:
      return canvas.resize(resized_size(step, canvas.size()), step.filter);
    case StepKind::kCenterCrop:
      return padded_crop(center_crop_box(step, canvas.size()), PadMode::kConstant, {});
    case StepKind::kRandomCrop:
      return random_crop(step, key);
    case StepKind::kPad:
      return canvas.pad(step.padding, step.pad_mode, step.fill);
    case StepKind::kHorizontalFlip:
      if (choose_gate(key, step.p)) canvas.flip_horizontal();
      return DecodeStatus::kOk;
    case StepKind::kVerticalFlip:
      if (choose_gate(key, step.p)) canvas.flip_vertical();
      return DecodeStatus::kOk;
    case StepKind::kColorJitter:
      return jitter(step, key);
    case StepKind::kGrayscale:
      return gray(step.channels);
    case StepKind::kRandomGrayscale:
      return choose_gate(key, step.p) ? gray(canvas.channels()) : DecodeStatus::kOk;
    case StepKind::kRotation:
      return rotate(step, key);
    case StepKind::kAutocontrast: {
      if (!choose_gate(key, step.p)) return DecodeStatus::kOk;
      const DecodeStatus status = canvas.edit(&pixels);
      if (status == DecodeStatus::kOk) autocontrast(pixels);
      return status;
    }
    case StepKind::kGaussianBlur:
      return blur(step, key);
  }
  return DecodeStatus::kOk;
}

DecodeStatus SampleRunner::State::resized_crop(const Step& step, const ChoiceKey& key) {
  const ImageSize size = canvas.size();
  canvas.crop(choose_resized_crop(key, size.width, size.height, step.scale[0], step.scale[1],
                                  step.ratio[0], step.ratio[1]));
  return canvas.resize({step.height, step.width}, step.filter);
}

DecodeStatus SampleRunner::State::random_crop(const Step& step, const ChoiceKey& key) {
  const auto& padding = step.padding;
  ImageSize size = canvas.size();
  // Cut-off sides, and borders that repeat the picture, depend on all that was there before.
  const bool is_simple = (step.pad_mode == PadMode::kConstant || step.pad_mode == PadMode::kEdge) &&
                         *std::min_element(padding.begin(), padding.end()) >= 0;
  if (!is_simple && has_pixels(padding)) {
    const DecodeStatus status = canvas.pad(padding, step.pad_mode, step.fill);
    if (status != DecodeStatus::kOk) return status;
    size = canvas.size();
  } else {
    size.width += padding[0] + padding[2];
    size.height += padding[1] + padding[3];
  }
  const ImageSize more = needed_padding(step, size);
  if (!is_simple && (more.width > 0 || more.height > 0)) {
    // torchvision pads the width, then the height.
    DecodeStatus status = canvas.pad({more.width, 0, more.width, 0}, step.pad_mode, step.fill);
    if (status != DecodeStatus::kOk) return status;
    status = canvas.pad({0, more.height, 0, more.height}, step.pad_mode, step.fill);
    if (status != DecodeStatus::kOk) return status;
  }
  size.width += 2 * more.width;
  size.height += 2 * more.height;
  if (size.width < step.width || size.height < step.height) {
    return canvas.refuse("a crop of " + size_text({step.height, step.width}) +
                         " is larger than the image of " + size_text(size) + " pixels");
  }
  const auto [top, left] = choose_crop(key, size.width, size.height, step.width, step.height);
  Box box = {top, left, step.height, step.width};
  if (is_simple) {
    box.top -= padding[1] + more.height;
    box.left -= padding[0] + more.width;
  }
  return padded_crop(box, step.pad_mode, step.fill);
}

// A box that may reach beyond the image, on whose sides the border is then put: only the
// pixels inside are decoded.
DecodeStatus SampleRunner::State::padded_crop(const Box& box, PadMode mode,
                                              std::span<const std::uint8_t> fill) {
  const std::array<std::int64_t, 4> outside = overhang(box, canvas.size());
  if (!has_pixels(outside)) {
    canvas.crop(box);
    return DecodeStatus::kOk;
  }
  const Box inner = {box.top + outside[1], box.left + outside[0],
                     box.height - outside[1] - outside[3], box.width - outside[0] - outside[2]};
  if (inner.height > 0 && inner.width > 0) {
    canvas.crop(inner);
    return canvas.pad(outside, mode, fill);
  }
  // Nothing but border.
  const DecodeStatus status = canvas.pad(outside, mode, fill);
  if (status != DecodeStatus::kOk) return status;
  canvas.crop({box.top + outside[1], box.left + outside[0], box.height, box.width});
  return status;
}

// Colours change alike wherever a pixel stands, so that flips may stay open.
DecodeStatus SampleRunner::State::jitter(const Step& step, const ChoiceKey& key) {
  std::array<std::array<double, 2>, 4> ranges = {};
  bool is_any = false;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (!step.jitter[i]) continue;
    ranges[i] = *step.jitter[i];
    is_any = true;
  }
  if (!is_any) return DecodeStatus::kOk;
  ImageView pixels;
  const DecodeStatus status = canvas.edit(&pixels);
  if (status != DecodeStatus::kOk) return status;
  const Jitter choice = choose_jitter(key, ranges);
  using Adjust = void (*)(const ImageView&, double);
  constexpr Adjust kAdjust[] = {adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue};
  for (const int which : choice.order) {
    const auto i = static_cast<std::size_t>(which);
    if (step.jitter[i]) kAdjust[i](pixels, choice.factors[i]);
  }
  return status;
}

DecodeStatus SampleRunner::State::gray(std::int64_t channels) {
  if (channels == 1 && canvas.channels() == 1) return DecodeStatus::kOk;
  ConstImageView pixels;
  ImageView next;
  const DecodeStatus status = canvas.replace(channels, &pixels, &next);
  if (status == DecodeStatus::kOk) to_grayscale(pixels, next);
  return status;
}

DecodeStatus SampleRunner::State::rotate(const Step& step, const ChoiceKey& key) {
  ImageView upright;
  DecodeStatus status = canvas.edit_upright(&upright);
  if (status != DecodeStatus::kOk) return status;
  ConstImageView pixels;
  ImageView next;
  status = canvas.replace(canvas.channels(), &pixels, &next);
  if (status != DecodeStatus::kOk) return status;
  const double degrees = choose_between(key, step.range[0], step.range[1]);
  rotate_image(pixels, degrees, step.filter, step.maybe_center, step.fill, next);
  return status;
}

DecodeStatus SampleRunner::State::blur(const Step& step, const ChoiceKey& key) {
  ImageView pixels;
  const DecodeStatus status = canvas.edit_upright(&pixels);
  if (status != DecodeStatus::kOk) return status;
  const double sigma = choose_between(key, step.range[0], step.range[1]);
  gaussian_blur(pixels, step.kernel, {sigma, sigma}, canvas.spare());
  return status;
}

SampleRunner::SampleRunner(std::shared_ptr<const ViewPlans> views)
    : state_(std::make_unique<State>(std::move(views))) {
  const SamplePlan& plan = state_->views->plans.front();
  state_->canvas.set_reader(plan.reader, plan.checks_reader);
}

SampleRunner::~SampleRunner() = default;

DecodeStatus SampleRunner::run(ConstByteSpan encoded, const ChoiceKey& key,
                               std::span<void* const> outs) {
  state_->check_outs(outs.size());
  SampleCanvas& canvas = state_->canvas;
  try {
    const std::int64_t max_pixels = state_->views->plans.front().max_pixels;
    const DecodeStatus status = canvas.open(encoded, max_pixels, state_->keep_gray);
    return status == DecodeStatus::kOk ? state_->run_views(key, outs) : status;
  } catch (const InvalidArgument& error) {
    // An operation that can't be done to an image of this size.
    return canvas.refuse(error.what());
  }
}

DecodeStatus SampleRunner::run(const ConstImageView& pixels, const ChoiceKey& key,
                               std::span<void* const> outs) {
  state_->check_outs(outs.size());
  SampleCanvas& canvas = state_->canvas;
  const std::int64_t expected = state_->views->plans.front().source_channels;
  if (pixels.channels != expected && (pixels.channels != 1 || expected != 3)) {
    return canvas.refuse("the image has " + std::to_string(pixels.channels) +
                         " channels, expected " + std::to_string(expected));
  }
  const bool keep_gray = pixels.channels == 1 && state_->keep_gray;
  try {
    const DecodeStatus status = canvas.open(pixels, keep_gray ? 1 : expected);
    return status == DecodeStatus::kOk ? state_->run_views(key, outs) : status;
  } catch (const InvalidArgument& error) {
    return canvas.refuse(error.what());
  }
}

DecodeStatus SampleRunner::run(ConstByteSpan encoded, const ChoiceKey& key, void* out) {
  return run(encoded, key, std::span<void* const>(&out, 1));
}

DecodeStatus SampleRunner::run(const ConstImageView& pixels, const ChoiceKey& key, void* out) {
  return run(pixels, key, std::span<void* const>(&out, 1));
}

DecodeStatus SampleRunner::outline(ConstByteSpan encoded, const ChoiceKey& key,
                                   SampleOutline* outline) {
  state_->check_outs(1);
  SampleCanvas& canvas = state_->canvas;
  try {
    DecodeStatus status = canvas.open(encoded, state_->views->plans.front().max_pixels);
    if (status == DecodeStatus::kOk && !is_common_jpeg(encoded)) {
      status = canvas.refuse("a JPEG of an uncommon kind");
    }
    if (status == DecodeStatus::kOk) status = state_->outline(key, outline);
    if (status == DecodeStatus::kOk) outline->size = static_cast<std::int64_t>(encoded.size());
    return status;
  } catch (const InvalidArgument& error) {
    return canvas.refuse(error.what());
  }
}

void SampleRunner::set_stores(Stores stores) { state_->stores = stores; }

const std::string& SampleRunner::error() const { return state_->canvas.error(); }
DecodePath SampleRunner::path() const { return state_->canvas.path(); }
std::size_t SampleRunner::held_bytes() const { return state_->canvas.held_bytes(); }
void SampleRunner::shrink(std::size_t keep_bytes) { state_->canvas.shrink(keep_bytes); }

}  // namespace dts
