// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_plan.h"

#include <algorithm>

#include "base/error.h"
#include "pipeline/plan_text.h"

namespace dts {
namespace {

constexpr std::size_t kMaxTextBytes = 1 << 16;
constexpr std::size_t kMaxSteps = 64;
constexpr std::int64_t kMaxSide = 65535;
constexpr std::int64_t kMaxOp = 32766;  // 32767 seeds Python code
constexpr std::int64_t kMaxKernel = 1023;
constexpr std::int64_t kMaxPixels = std::int64_t{1} << 53;
// Beyond these nobody augments; they keep areas and rotations far from overflow.
constexpr Range kCropScale = {0.0, 1e6};
constexpr Range kErasingScale = {0.0, 1.0};
constexpr Range kRatio = {0.0, 1e6, true};
constexpr Range kFactor = {0.0, 1e6};
constexpr Range kHue = {-0.5, 0.5};
constexpr Range kDegrees = {-1e6, 1e6};
constexpr Range kCenter = {-1e6, 1e6};
constexpr Range kSigma = {0.0, 1e6, true};
constexpr Range kProbability = {0.0, 1.0};
constexpr Range kByte = {0.0, 255.0};
constexpr Range kFloat32 = {-3.4028234663852886e38, 3.4028234663852886e38};

constexpr Filter kPillowFilters[] = {Filter::kNearest, Filter::kLanczos, Filter::kBilinear,
                                     Filter::kBicubic, Filter::kBox,     Filter::kHamming};

std::array<double, 2> pair(PlanLine& line, std::string_view key, const Range& range) {
  const std::vector<double> values = line.reals(key, 2, range);
  return {values[0], values[1]};
}

// Lower bound first.
std::array<double, 2> interval(PlanLine& line, std::string_view key, const Range& range) {
  const std::array<double, 2> values = pair(line, key, range);
  if (values[0] > values[1]) line.refuse(key, "the lower bound first");
  return values;
}

std::vector<float> floats(const std::vector<double>& values) {
  std::vector<float> result;
  for (const double value : values) result.push_back(static_cast<float>(value));
  return result;
}

std::uint32_t op_of(PlanLine& line) {
  return static_cast<std::uint32_t>(line.integer("op", 0, kMaxOp));
}

void read_size(PlanLine& line, Step& step) {
  step.height = line.integer("height", 1, kMaxSide);
  step.width = line.integer("width", 1, kMaxSide);
}

void read_filter(PlanLine& line, Step& step) {
  step.filter = kPillowFilters[line.integer("filter", 0, 5)];
}

void read_fill(PlanLine& line, Step& step, std::int64_t channels) {
  for (const double value : line.per_channel("fill", channels, kByte, true)) {
    step.fill.push_back(static_cast<std::uint8_t>(value));
  }
}

void read_padding(PlanLine& line, Step& step, std::int64_t channels) {
  if (line.has("padding") || step.kind == StepKind::kPad) {
    const std::vector<std::int64_t> sides = line.integers("padding", 4, -kMaxSide, kMaxSide);
    std::copy(sides.begin(), sides.end(), step.padding.begin());
  }
  step.pad_mode = static_cast<PadMode>(line.integer_or("pad_mode", 0, 3, 0));
  read_fill(line, step, channels);
}

void read_gate(PlanLine& line, Step& step, std::int64_t) {
  step.op = op_of(line);
  step.p = line.real("p", kProbability);
}

void read_resized_crop(PlanLine& line, Step& step, std::int64_t) {
  step.op = op_of(line);
  read_size(line, step);
  step.scale = pair(line, "scale", kCropScale);
  step.ratio = pair(line, "ratio", kRatio);
  read_filter(line, step);
}

void read_resize(PlanLine& line, Step& step, std::int64_t) {
  step.height = line.integer("height", 1, kMaxSide);
  step.width = line.integer("width", 0, kMaxSide);
  read_filter(line, step);
  if (!line.has("max_size")) return;
  step.max_size = line.integer("max_size", 0, kMaxSide);
  if (step.max_size == 0) return;
  if (step.width != 0) line.refuse("max_size", "0 beside a width");
  if (step.max_size <= step.height) line.refuse("max_size", "0, or more than the height");
}

void read_center_crop(PlanLine& line, Step& step, std::int64_t) { read_size(line, step); }

void read_random_crop(PlanLine& line, Step& step, std::int64_t channels) {
  step.op = op_of(line);
  read_size(line, step);
  read_padding(line, step, channels);
  step.pad_if_needed = line.integer_or("pad_if_needed", 0, 1, 0) != 0;
}

void read_color_jitter(PlanLine& line, Step& step, std::int64_t) {
  step.op = op_of(line);
  const char* const keys[] = {"brightness", "contrast", "saturation", "hue"};
  for (std::size_t i = 0; i < 4; ++i) {
    if (line.has(keys[i])) step.jitter[i] = interval(line, keys[i], i == 3 ? kHue : kFactor);
  }
}

void read_grayscale(PlanLine& line, Step& step, std::int64_t) {
  step.channels = line.integer("channels", 1, 3);
  if (step.channels == 2) line.refuse("channels", "1 or 3");
}

void read_rotation(PlanLine& line, Step& step, std::int64_t channels) {
  step.op = op_of(line);
  step.range = interval(line, "degrees", kDegrees);
  read_filter(line, step);
  if (step.filter != Filter::kNearest && step.filter != Filter::kBilinear) {
    line.refuse("filter", "0 (nearest) or 2 (bilinear)");
  }
  line.integer_or("expand", 0, 0, 0);
  if (line.has("center")) step.maybe_center = pair(line, "center", kCenter);
  read_fill(line, step, channels);
}

void read_gaussian_blur(PlanLine& line, Step& step, std::int64_t) {
  step.op = op_of(line);
  const std::vector<std::int64_t> kernel = line.integers("kernel", 2, 1, kMaxKernel);
  if (kernel[0] % 2 == 0 || kernel[1] % 2 == 0) line.refuse("kernel", "odd numbers");
  step.kernel = {kernel[0], kernel[1]};
  step.range = interval(line, "sigma", kSigma);
}

struct StepReader {
  const char* name;
  StepKind kind;
  void (*read)(PlanLine& line, Step& step, std::int64_t channels);
};

constexpr StepReader kStepReaders[] = {
    {"resized_crop", StepKind::kResizedCrop, read_resized_crop},
    {"resize", StepKind::kResize, read_resize},
    {"center_crop", StepKind::kCenterCrop, read_center_crop},
    {"random_crop", StepKind::kRandomCrop, read_random_crop},
    {"pad", StepKind::kPad, read_padding},
    {"horizontal_flip", StepKind::kHorizontalFlip, read_gate},
    {"vertical_flip", StepKind::kVerticalFlip, read_gate},
    {"color_jitter", StepKind::kColorJitter, read_color_jitter},
    {"grayscale", StepKind::kGrayscale, read_grayscale},
    {"random_grayscale", StepKind::kRandomGrayscale, read_gate},
    {"rotation", StepKind::kRotation, read_rotation},
    {"autocontrast", StepKind::kAutocontrast, read_gate},
    {"gaussian_blur", StepKind::kGaussianBlur, read_gaussian_blur},
};

// Reads line after line; the lines' order is checked as they come.
class PlanParser {
 public:
  void read(PlanLine& line);
  SamplePlan finish() &&;

 private:
  void read_source(PlanLine& line);
  void read_step(PlanLine& line);
  void read_output(PlanLine& line);
  void read_erasing(PlanLine& line);

  SamplePlan plan_;
  std::int64_t channels_ = 0;  // of the image at this point
  bool has_source_ = false, has_output_ = false;
};

void PlanParser::read(PlanLine& line) {
  if (!has_source_) {
    if (line.name() != "source") line.fail("expected the line 'source' first");
    read_source(line);
  } else if (!has_output_) {
    line.name() == "output" ? read_output(line) : read_step(line);
  } else if (line.name() == "erasing" && !plan_.maybe_erasing) {
    read_erasing(line);
  } else {
    line.fail("expected nothing behind 'output' but one 'erasing'");
  }
  line.finish();
}

void PlanParser::read_source(PlanLine& line) {
  has_source_ = true;
  channels_ = plan_.source_channels = line.integer("channels", 1, 3);
  if (channels_ == 2) line.refuse("channels", "1 or 3");
  plan_.max_pixels = line.integer("max_pixels", 0, kMaxPixels);
  plan_.pass_order = static_cast<PassOrder>(line.integer("pass_order", 0, 2));
  plan_.reader = static_cast<JpegReader>(line.integer_or("reader", 0, 1, 0));
  plan_.is_fast = line.integer_or("decode", 0, 1, 0) != 0;
}

void PlanParser::read_step(PlanLine& line) {
  const auto* const reader =
      std::find_if(std::begin(kStepReaders), std::end(kStepReaders),
                   [&](const StepReader& candidate) { return line.name() == candidate.name; });
  if (reader == std::end(kStepReaders)) {
    std::string known;
    for (const StepReader& candidate : kStepReaders) known += std::string(candidate.name) + ", ";
    line.fail("unknown operation, expected one of: " + known + "output");
  }
  if (plan_.steps.size() == kMaxSteps) {
    line.fail("found more operations, expected at most " + std::to_string(kMaxSteps));
  }
  Step step;
  step.kind = reader->kind;
  reader->read(line, step, channels_);
  if (step.kind == StepKind::kGrayscale) channels_ = step.channels;
  plan_.steps.push_back(std::move(step));
}

void PlanParser::read_output(PlanLine& line) {
  has_output_ = true;
  plan_.height = line.integer("height", 1, kMaxSide);
  plan_.width = line.integer("width", 1, kMaxSide);
  NormalizeParams& tail = plan_.tail;
  tail.channels = line.integer("channels", 1, 3);
  if (tail.channels != channels_) {
    line.refuse("channels", std::to_string(channels_) + ", which the operations give");
  }
  tail.type = static_cast<PixelType>(line.integer("dtype", 0, 3));
  tail.format = static_cast<MemoryFormat>(line.integer("layout", 0, 1));
  const std::int64_t scale = line.integer("scale", 0, 2);
  tail.scale = scale != 0;
  tail.multiply = scale == 2;
  tail.mean = floats(line.per_channel("mean", channels_, kFloat32));
  tail.std = floats(line.per_channel("std", channels_, kFloat32));
  if (tail.mean.empty() != tail.std.empty()) line.fail("found one of mean and std, expected both");
  if (std::find(tail.std.begin(), tail.std.end(), 0.0f) != tail.std.end()) {
    line.refuse("std", "no 0, which would divide by zero");
  }
  if (tail.type == PixelType::kUint8 && !tail.mean.empty()) {
    line.refuse("dtype", "1, 2 or 3 beside mean and std");
  }
}

void PlanParser::read_erasing(PlanLine& line) {
  Erasing erasing;
  erasing.op = op_of(line);
  erasing.p = line.real("p", kProbability);
  erasing.scale = pair(line, "scale", kErasingScale);
  erasing.ratio = pair(line, "ratio", kRatio);
  erasing.deferred = line.integer_or("deferred", 0, 1, 0) != 0;
  if (erasing.deferred) {
    plan_.maybe_erasing = std::move(erasing);
    return;
  }
  const bool is_uint8 = plan_.tail.type == PixelType::kUint8;
  erasing.random_values = line.integer_or("random", 0, 1, 0) != 0;
  if (erasing.random_values && is_uint8) line.refuse("random", "0 for uint8 output");
  // uint8: fractions are cut off.
  const Range values = is_uint8 ? Range{0.0, 255.0} : kFloat32;
  erasing.values = floats(line.per_channel("value", channels_, values));
  if (erasing.random_values != erasing.values.empty()) {
    line.fail("found both or neither of value and random=1, expected one");
  }
  plan_.maybe_erasing = std::move(erasing);
}

SamplePlan PlanParser::finish() && {
  if (!has_output_) throw InvalidArgument("plan: found no line 'output', expected one");
  return std::move(plan_);
}

bool has_colours(const std::vector<std::uint8_t>& fill) {
  return std::any_of(fill.begin(), fill.end(), [&](std::uint8_t v) { return v != fill.front(); });
}

}  // namespace

SamplePlan parse_plan(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    throw InvalidArgument("plan: the text has " + std::to_string(text.size()) +
                          " bytes, expected at most " + std::to_string(kMaxTextBytes));
  }
  PlanParser parser;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    PlanLine line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.name().empty()) parser.read(line);
  }
  return std::move(parser).finish();
}

bool can_keep_gray(const SamplePlan& plan) {
  for (const Step& step : plan.steps) {
    switch (step.kind) {
      case StepKind::kGrayscale:
        return true;
      case StepKind::kResizedCrop:
      case StepKind::kResize:
      case StepKind::kCenterCrop:
      case StepKind::kRandomCrop:
      case StepKind::kPad:
      case StepKind::kHorizontalFlip:
      case StepKind::kVerticalFlip:
        if (has_colours(step.fill)) return false;
        break;
      default:
        return false;
    }
  }
  return false;
}

}  // namespace dts
