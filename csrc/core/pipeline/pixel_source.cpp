// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pixel_source.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace dts {
namespace {

// Products of sides that fit one below stay far below 2^63.
constexpr std::int64_t kMaxSide = 65535;

}  // namespace

PixelSource::PixelSource(ConstByteSpan pixels, std::int64_t height, std::int64_t width,
                         std::int64_t channels, std::vector<std::int64_t> labels,
                         std::shared_ptr<const void> owner)
    : pixels_(pixels),
      height_(height),
      width_(width),
      channels_(channels),
      labels_(std::move(labels)),
      owner_(std::move(owner)) {
  for (const std::int64_t side : {height, width, channels}) {
    if (side < 1 || side > kMaxSide) {
      throw InvalidArgument("images of " + std::to_string(height) + " x " + std::to_string(width) +
                            " x " + std::to_string(channels) +
                            " (height, width, channels), expected 1 to " +
                            std::to_string(kMaxSide) + " each");
    }
  }
  const auto image_bytes = static_cast<std::size_t>(height * width * channels);
  if (pixels.size() % image_bytes != 0 || pixels.size() / image_bytes != labels_.size()) {
    throw InvalidArgument(std::to_string(pixels.size()) + " bytes of pixels, expected " +
                          std::to_string(labels_.size()) + " images (one per label) of " +
                          std::to_string(image_bytes) + " bytes");
  }
}

std::int64_t PixelSource::label(std::int64_t sample) const {
  check_sample(sample);
  return labels_[static_cast<std::size_t>(sample)];
}

std::int64_t PixelSource::choice_index(std::int64_t sample) const {
  check_sample(sample);
  return sample;
}

std::unique_ptr<ReaderState> PixelSource::open_reader() const {
  return std::make_unique<ReaderState>();
}

void PixelSource::read_samples(std::span<const std::int64_t> samples, ReadMemory&,
                               std::span<SampleView> views, ReaderState&) const {
  check_views(samples.size(), views.size());
  const auto image_bytes = static_cast<std::size_t>(height_ * width_ * channels_);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    check_sample(samples[i]);
    views[i] = {pixels_.subspan(static_cast<std::size_t>(samples[i]) * image_bytes, image_bytes),
                height_, width_, channels_, false};
  }
}

KeptBytes PixelSource::kept() const {
  return {static_cast<std::int64_t>(pixels_.size()), false, true};
}

}  // namespace dts
