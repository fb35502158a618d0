// SPDX-License-Identifier: Apache-2.0
// What is done to one image: the operations of a transform with their parameters, from
// decoding to the values of the batch. Plain data; read from a text that Python writes
// (torch_dts/transforms) and every number of which is checked here.
//
// One line per operation, `name key=number[,number...] ...`, every key as listed beside
// its field below; numbers as strtod reads them (Python's float.hex() is exact):
//
//   source channels=3 max_pixels=178956970 pass_order=2
//   resized_crop op=0 height=224 width=224 scale=0.08,1 ratio=0.75,1.25 filter=2
//   horizontal_flip op=1 p=0.5
//   output height=224 width=224 channels=3 dtype=1 layout=0 scale=1 mean=... std=...
//   erasing op=2 p=0.1 scale=0.02,0.33 ratio=0.3,3.3 value=0
//
// First comes `source`, then the operations, then `output`, then `erasing` if any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "image/fused_normalize.h"
#include "image/pad.h"
#include "image/resample.h"
#include "jpeg/decode.h"

namespace dts {

enum class StepKind {
  kResizedCrop,      // resized_crop: op height width scale ratio filter
  kResize,           // resize: height width filter [max_size]; width 0: height is the shorter side
  kCenterCrop,       // center_crop: height width
  kRandomCrop,       // random_crop: op height width [padding fill pad_mode pad_if_needed]
  kPad,              // pad: padding [fill pad_mode]
  kHorizontalFlip,   // horizontal_flip: op p
  kVerticalFlip,     // vertical_flip: op p
  kColorJitter,      // color_jitter: op [brightness contrast saturation hue], each low,high
  kGrayscale,        // grayscale: channels (1 or 3)
  kRandomGrayscale,  // random_grayscale: op p
  kRotation,         // rotation: op degrees=low,high filter (0 or 2) [expand=0 fill center=x,y]
  kAutocontrast,     // autocontrast: op p
  kGaussianBlur,     // gaussian_blur: op kernel=width,height sigma=low,high
};

struct Step {
  StepKind kind = StepKind::kResize;
  std::uint32_t op = 0;  // position among the random operations (format.md section 5)
  double p = 1.0;
  std::int64_t height = 0, width = 0;
  std::int64_t max_size = 0;          // 0: none
  Filter filter = Filter::kBilinear;  // Pillow's numbers: 0 nearest 1 lanczos 2 bilinear
                                      // 3 bicubic 4 box 5 hamming
  std::array<double, 2> scale{}, ratio{};
  std::array<std::int64_t, 4> padding{};  // left, top, right, bottom
  PadMode pad_mode = PadMode::kConstant;  // 0 constant 1 edge 2 reflect 3 symmetric
  bool pad_if_needed = false;
  std::vector<std::uint8_t> fill;  // one value, or one per channel; empty: 0
  // Ranges of brightness, contrast, saturation, hue; absent: that operation is left out
  // (it still has its place in the random order and its factor is still drawn).
  std::array<std::optional<std::array<double, 2>>, 4> jitter;
  std::int64_t channels = 3;
  std::array<double, 2> range{};  // degrees, or sigma
  std::optional<std::array<double, 2>> maybe_center;
  bool expand = false;
  std::array<std::int64_t, 2> kernel{};  // width, height; odd
};

struct Erasing {
  std::uint32_t op = 0;
  double p = 0.5;
  std::array<double, 2> scale{}, ratio{};
  bool random_values = false;  // random=1: normals, one per value
  std::vector<float> values;   // one, or one per channel, in output units
  bool deferred = false;       // deferred=1: the box is drawn and handed out, and filled elsewhere
};

struct SamplePlan {
  std::int64_t source_channels = 3;  // of images that come as pixels; JPEGs decode to RGB
  std::int64_t max_pixels = 0;       // larger images are Pillow's to judge; 0: no limit
  PassOrder pass_order = PassOrder::kVerticalIfShrunkMore;  // by number, in the enum's order
  JpegReader reader = JpegReader::kAuto;                    // by number, too; may be left out
  bool is_fast = false;        // decode=1: JPEGs may be decoded smaller; may be left out
  bool checks_reader = false;  // not in the text: JpegDecoder::set_checking()
  std::vector<Step> steps;
  std::int64_t height = 0, width = 0;  // of the result, the same for every image
  NormalizeParams tail;  // dtype: PixelType's number; layout: 0 planes, 1 channels_last;
                         // scale: 0 none 1 divide by 255 2 multiply by 1/255
  std::optional<Erasing> maybe_erasing;

  std::int64_t image_values() const { return height * width * tail.channels; }
  std::int64_t image_bytes() const {
    return image_values() * static_cast<std::int64_t>(pixel_bytes(tail.type));
  }
};

// InvalidArgument names the line, the key, the value found and what was expected.
SamplePlan parse_plan(std::string_view text);

// Whether one channel of a gray image is enough: all that is done before it becomes gray by
// the plan does the same to three equal channels.
bool can_keep_gray(const SamplePlan& plan);

}  // namespace dts
