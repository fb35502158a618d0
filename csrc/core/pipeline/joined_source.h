// SPDX-License-Identifier: Apache-2.0
// Several sources one behind the other (a ConcatDataset): samples are those of the first,
// then those of the second, and so on. Labels are the parts'; random choices go by the position
// in the whole. All samples are read singly, but what a part keeps in memory is used and
// filled.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/sample_source.h"

namespace dts {

class JoinedSource : public SampleSource {
 public:
  // InvalidArgument: no parts.
  explicit JoinedSource(std::vector<std::shared_ptr<const SampleSource>> parts);

  std::int64_t num_samples() const override { return first_.back(); }
  std::int64_t label(std::int64_t sample) const override;
  std::int64_t choice_index(std::int64_t sample) const override { return position(sample); }
  std::int64_t position(std::int64_t sample) const override;
  std::unique_ptr<ReaderState> open_reader() const override;
  void read_samples(std::span<const std::int64_t> samples, ReadMemory& memory,
                    std::span<SampleView> views, ReaderState& reader) const override;
  void check_unchanged(ReaderState& reader) const override;
  KeptBytes kept() const override;
  std::int64_t num_kept_blocks() const override;
  std::int64_t num_held_blocks() const override;
  bool keep_next(bool check, ReaderState& reader) const override;

 private:
  std::size_t part_of(std::int64_t sample) const;

  std::vector<std::shared_ptr<const SampleSource>> parts_;
  std::vector<std::int64_t> first_;  // [num_parts + 1] first sample of each part
};

}  // namespace dts
