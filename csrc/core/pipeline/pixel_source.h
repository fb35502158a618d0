// SPDX-License-Identifier: Apache-2.0
// Images that are pixels in memory already (MNIST, CIFAR): used in place, nothing is read.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/sample_source.h"

namespace dts {

class PixelSource : public SampleSource {
 public:
  // `pixels`: labels.size() images of height x width x channels bytes without gaps; `owner`
  // keeps them alive and in place as long as the source lives. InvalidArgument for another
  // number of bytes or a side of 0.
  PixelSource(ConstByteSpan pixels, std::int64_t height, std::int64_t width, std::int64_t channels,
              std::vector<std::int64_t> labels, std::shared_ptr<const void> owner);

  std::int64_t num_samples() const override { return static_cast<std::int64_t>(labels_.size()); }
  std::int64_t label(std::int64_t sample) const override;
  void prefetch_label(std::int64_t sample) const override {
    __builtin_prefetch(labels_.data() + sample);
  }
  std::int64_t choice_index(std::int64_t sample) const override;
  std::unique_ptr<ReaderState> open_reader() const override;
  void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                    std::span<SampleView> views, ReaderState& reader) const override;
  KeptBytes kept() const override;

 private:
  ConstByteSpan pixels_;
  std::int64_t height_, width_, channels_;
  std::vector<std::int64_t> labels_;
  std::shared_ptr<const void> owner_;
};

}  // namespace dts
