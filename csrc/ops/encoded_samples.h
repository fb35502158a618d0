// SPDX-License-Identifier: Apache-2.0
// Encoded samples in an arena as spans, and a row of encoded results as tensors. For ops
// that make files of files.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "ops/parallel.h"
#include "ops/tensors.h"

namespace dts::ops {

// Borrows from the three tensors. InvalidArgument, OutOfRange: they don't fit together.
class EncodedSamples {
 public:
  EncodedSamples(const Tensor& arena, const Tensor& offsets, const Tensor& sizes)
      : bytes_(byte_view(arena, "arena")),
        starts_(int64_view(offsets, "offsets")),
        lengths_(int64_view(sizes, "sizes")) {
    check_same_length(starts_.size(), "offsets", lengths_.size(), "sizes");
    for (std::int64_t i = 0; i < count(); ++i) (*this)[i];
  }

  std::int64_t count() const { return static_cast<std::int64_t>(starts_.size()); }
  ConstByteSpan operator[](std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    return sample_bytes(bytes_, starts_[at], lengths_[at], at);
  }

 private:
  ConstByteSpan bytes_;
  std::span<const std::int64_t> starts_, lengths_;
};

// Results of `count` samples, each with `num_facts` numbers. Different samples may be set
// by different threads.
class EncodedOutput {
 public:
  EncodedOutput(std::int64_t count, std::int64_t num_facts)
      : copies_(static_cast<std::size_t>(count)),
        results_(static_cast<std::size_t>(count)),
        num_facts_(num_facts) {
    const std::int64_t shape[2] = {count, num_facts};
    facts_ = torch::stable::empty({shape, 2}, ScalarType::Long);
  }

  std::int64_t* facts(std::int64_t i) {
    return static_cast<std::int64_t*>(facts_.data_ptr()) + i * num_facts_;
  }
  void keep_copy(std::int64_t i, ConstByteSpan bytes) {
    auto& copy = copies_[static_cast<std::size_t>(i)];
    copy.assign(bytes.begin(), bytes.end());
    results_[static_cast<std::size_t>(i)] = copy;
  }
  // `bytes` must stay until join().
  void refer_to(std::int64_t i, ConstByteSpan bytes) {
    results_[static_cast<std::size_t>(i)] = bytes;
  }

  // All results one behind the other, their offsets and sizes, and the facts.
  std::tuple<Tensor, Tensor, Tensor, Tensor> join() {
    const auto count = static_cast<std::int64_t>(results_.size());
    Tensor offsets = new_int64(count);
    Tensor sizes = new_int64(count);
    auto* const starts = static_cast<std::int64_t*>(offsets.data_ptr());
    auto* const lengths = static_cast<std::int64_t*>(sizes.data_ptr());
    std::int64_t total = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      starts[i] = total;
      lengths[i] = static_cast<std::int64_t>(results_[static_cast<std::size_t>(i)].size());
      total += lengths[i];
    }
    Tensor bytes = new_bytes(total);
    auto* const out = static_cast<std::byte*>(bytes.data_ptr());
    for (std::int64_t i = 0; i < count; ++i) {
      const ConstByteSpan result = results_[static_cast<std::size_t>(i)];
      if (!result.empty()) std::memcpy(out + starts[i], result.data(), result.size());
      // The two copies of all bytes need not be there at once.
      std::vector<std::byte>().swap(copies_[static_cast<std::size_t>(i)]);
    }
    return {bytes, offsets, sizes, facts_};
  }

 private:
  std::vector<std::vector<std::byte>> copies_;
  std::vector<ConstByteSpan> results_;
  std::int64_t num_facts_;
  Tensor facts_;
};

}  // namespace dts::ops
