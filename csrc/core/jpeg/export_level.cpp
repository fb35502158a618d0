// SPDX-License-Identifier: Apache-2.0
#include "jpeg/export_level.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "jpeg/restart_interval.h"

namespace dts {
namespace {

constexpr int kFirstLevel = 1, kLastLevel = 3;
// Short sides up to the threshold stay as they are; longer ones become kShortSide.
constexpr std::int64_t kThreshold[] = {400, 440, 440};
constexpr double kShortSide = 400.0;
constexpr int kQuality[] = {90, 90, 80};
// The crop of levels 2 and 3, for landscape; the other way round for all else.
constexpr std::int64_t kLongCrop = 600, kShortCrop = 400;

void check_level(int level) {
  if (level >= kFirstLevel && level <= kLastLevel) return;
  throw InvalidArgument("the level is " + std::to_string(level) + ", expected 1, 2 or 3");
}

// As Python computes int(side * scale).
std::int64_t scaled(std::int64_t side, double scale) {
  return static_cast<std::int64_t>(static_cast<double>(side) * scale);
}

}  // namespace

int level_quality(int level) {
  check_level(level);
  return kQuality[level - kFirstLevel];
}

LevelSize level_size(int level, std::int64_t width, std::int64_t height) {
  check_level(level);
  if (width < 1 || height < 1) {
    throw InvalidArgument("a picture of " + std::to_string(width) + " x " + std::to_string(height) +
                          " pixels has no level");
  }
  LevelSize size{width, height, {}};
  const std::int64_t short_side = std::min(width, height);
  if (short_side > kThreshold[level - kFirstLevel]) {
    const double scale = kShortSide / static_cast<double>(short_side);
    size.width = scaled(width, scale);
    size.height = scaled(height, scale);
  }
  size.window = {0, 0, size.height, size.width};
  if (level == kFirstLevel) return size;
  const bool is_landscape = size.width > size.height;
  size.window.width = std::min(size.width, is_landscape ? kLongCrop : kShortCrop);
  size.window.height = std::min(size.height, is_landscape ? kShortCrop : kLongCrop);
  size.window.left = (size.width - size.window.width) / 2;
  size.window.top = (size.height - size.window.height) / 2;
  return size;
}

LevelExporter::LevelExporter(PassOrder pass_order) : resampler_(best_simd_level(), pass_order) {}

// The window's pixels: the decoder's memory or ours.
DecodeStatus LevelExporter::make_pixels(const LevelSize& size, ConstImageView* pixels) {
  const JpegFrame& frame = decoder_.frame();
  if (size.width == frame.width && size.height == frame.height) {
    return decoder_.decode(size.window, true, pixels);
  }
  const ResamplePlan plan = resampler_.plan(Filter::kLanczos, frame.width, frame.height, size.width,
                                            size.height, size.window);
  ConstImageView source;
  const DecodeStatus status = decoder_.decode(plan.source_box, true, &source);
  if (status != DecodeStatus::kOk) return status;
  const std::int64_t stride = size.window.width * source.channels;
  const ImageView out{resized_.get(static_cast<std::size_t>(stride * size.window.height)),
                      size.window.height, size.window.width, source.channels, stride};
  resampler_.run(plan, source, out);
  *pixels = out;
  return DecodeStatus::kOk;
}

DecodeStatus LevelExporter::run(ConstByteSpan data, int level, std::int64_t restart_interval,
                                Exported* result, std::int64_t max_pixels) {
  *result = {};
  const int quality = level_quality(level);
  choose_restart_interval(restart_interval, 1);  // refuses what is no interval
  const DecodeStatus opened = decoder_.open(data);
  if (opened != DecodeStatus::kOk) return opened;
  const JpegFrame& frame = decoder_.frame();
  if (frame.is_cmyk || frame.width * frame.height > max_pixels) {
    return DecodeStatus::kUnsupported;
  }
  ConstImageView pixels;
  const DecodeStatus status = make_pixels(level_size(level, frame.width, frame.height), &pixels);
  if (status != DecodeStatus::kOk) return status;
  result->bytes = encoder_.encode(pixels, {quality, restart_interval, true});
  result->width = pixels.width;
  result->height = pixels.height;
  return DecodeStatus::kOk;
}

}  // namespace dts
