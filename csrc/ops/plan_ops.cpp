// SPDX-License-Identifier: Apache-2.0
// A plan done to samples in memory, and the seed of Python code about a sample. Pure
// tensor ops. Samples are worked on side by side by torch's own threads.
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/ending.h"
#include "ops/numbers.h"
#include "ops/parallel.h"
#include "ops/pixel_types.h"
#include "ops/plans.h"
#include "ops/samples.h"
#include "ops/tensors.h"
#include "pipeline/sample_runner.h"
#include "pipeline/view_plans.h"

namespace dts::ops {
namespace {

constexpr std::int64_t kMaxIndex = (std::int64_t{1} << 40) - 1;
constexpr std::int64_t kMaxView = 255;

// The keys of samples: their indices, and how often each came before (none: never).
class Keys {
 public:
  Keys(const Tensor& indices, const Tensor& occurrences, std::int64_t seed, std::int64_t epoch,
       std::int64_t view)
      : indices_(int64_view(indices, "indices")),
        occurrences_(int64_view(occurrences, "occurrences")) {
    if (!occurrences_.empty()) {
      check_same_length(occurrences_.size(), "occurrences", indices_.size(), "indices");
    }
    check_range("view", view, kMaxView);
    for (const std::int64_t index : indices_) check_range("an index", index, kMaxIndex);
    key_.seed = static_cast<std::uint64_t>(seed);
    key_.epoch = narrow_u32(epoch, "epoch");
    key_.view = static_cast<std::uint32_t>(view);
  }
  std::size_t size() const { return indices_.size(); }
  ChoiceKey operator[](std::size_t i) const {
    ChoiceKey key = key_;
    key.index = static_cast<std::uint64_t>(indices_[i]);
    if (!occurrences_.empty()) key.occurrence = static_cast<std::uint32_t>(occurrences_[i]);
    return key;
  }

 private:
  std::span<const std::int64_t> indices_, occurrences_;
  ChoiceKey key_;
};

DecodeStatus run_one(SampleRunner& runner, const Sample& sample, const ChoiceKey& key,
                     std::span<void* const> outs) {
  if (sample.height == 0) return runner.run(sample.bytes, key, outs);
  return runner.run(sample.pixels(), key, outs);
}

// Memory for the images of a view, in the order in which its plan writes them.
Tensor new_images(const SamplePlan& plan, std::int64_t count) {
  const bool is_pixels = plan.tail.format == MemoryFormat::kChannelsLast;
  const std::int64_t planes[4] = {count, plan.tail.channels, plan.height, plan.width};
  const std::int64_t pixels[4] = {count, plan.height, plan.width, plan.tail.channels};
  return torch::stable::empty({is_pixels ? pixels : planes, 4}, scalar_type_of(plan.tail.type));
}

// As [n, C, H, W].
Tensor shaped(const Tensor& images, const SamplePlan& plan) {
  if (plan.tail.format != MemoryFormat::kChannelsLast) return images;
  const std::int64_t order[4] = {0, 3, 1, 2};
  return torch::stable::permute(images, {order, 4});
}

// Where each view's image of sample i goes.
class Places {
 public:
  Places(const ViewPlans& views, const std::vector<Tensor>& images) : outs_(images.size()) {
    for (std::size_t view = 0; view < images.size(); ++view) {
      begins_.push_back(static_cast<std::byte*>(images[view].data_ptr()));
      bytes_.push_back(views.plans[view].image_bytes());
    }
  }
  std::span<void* const> of(std::int64_t i) {
    for (std::size_t view = 0; view < outs_.size(); ++view) {
      outs_[view] = begins_[view] + i * bytes_[view];
    }
    return outs_;
  }
  void clear(std::int64_t i) const {
    for (std::size_t view = 0; view < outs_.size(); ++view) {
      std::fill_n(begins_[view] + i * bytes_[view], bytes_[view], std::byte{0});
    }
  }

 private:
  std::vector<std::byte*> begins_;
  std::vector<std::int64_t> bytes_;
  std::vector<void*> outs_;
};

std::tuple<std::vector<Tensor>, Tensor> run(const std::shared_ptr<const ViewPlans>& views,
                                            const std::vector<Sample>& samples, const Keys& keys) {
  check_same_length(keys.size(), "indices", samples.size(), "offsets");
  const auto count = static_cast<std::int64_t>(samples.size());
  std::vector<Tensor> images;
  for (const SamplePlan& plan : views->plans) images.push_back(new_images(plan, count));
  Tensor status = new_int64(count);
  auto* const states = static_cast<std::int64_t*>(status.data_ptr());
  const std::int64_t all_bytes = count * views->image_bytes();
  const bool streams = std::cmp_greater_equal(all_bytes, kStreamedBatchBytes);
  in_parallel(count, [&](std::int64_t first, std::int64_t last) {
    SampleRunner runner(views);
    runner.set_stores(streams ? Stores::kStreamed : Stores::kCached);
    Places places(*views, images);
    for (std::int64_t i = first; i < last; ++i) {
      check_not_ending();
      const auto at = static_cast<std::size_t>(i);
      const DecodeStatus result = run_one(runner, samples[at], keys[at], places.of(i));
      states[i] = static_cast<std::int64_t>(result);
      if (result != DecodeStatus::kOk) places.clear(i);
    }
  });
  for (std::size_t view = 0; view < images.size(); ++view) {
    images[view] = shaped(images[view], views->plans[view]);
  }
  return {std::move(images), status};
}

std::tuple<std::vector<Tensor>, Tensor> run_views(Tensor arena, Tensor offsets, Tensor sizes,
                                                  Tensor shapes, std::string text, Tensor indices,
                                                  Tensor occurrences, std::int64_t seed,
                                                  std::int64_t epoch) {
  const auto views = plans_of(text);
  const std::vector<Sample> samples = samples_of(arena, offsets, sizes, shapes);
  return run(views, samples, Keys(indices, occurrences, seed, epoch, 0));
}

std::tuple<Tensor, Tensor> run_plan(Tensor arena, Tensor offsets, Tensor sizes, Tensor shapes,
                                    std::string text, Tensor indices, Tensor occurrences,
                                    std::int64_t seed, std::int64_t epoch, std::int64_t view) {
  const auto views = with_checks({{parse_plan(text)}});
  const std::vector<Sample> samples = samples_of(arena, offsets, sizes, shapes);
  auto [images, status] = run(views, samples, Keys(indices, occurrences, seed, epoch, view));
  return {images.front(), status};
}

Tensor choose_seed(Tensor indices, Tensor occurrences, std::int64_t seed, std::int64_t epoch,
                   std::int64_t view) {
  const Keys keys(indices, occurrences, seed, epoch, view);
  Tensor result = new_int64(static_cast<std::int64_t>(keys.size()));
  auto* const seeds = static_cast<std::int64_t*>(result.data_ptr());
  for (std::size_t i = 0; i < keys.size(); ++i) seeds[i] = choose_python_seed(keys[i]);
  return result;
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "run_plan(Tensor arena, Tensor offsets, Tensor sizes, Tensor shapes, str plan, Tensor "
      "indices, "
      "Tensor occurrences, int seed, int epoch, int view) -> (Tensor images, Tensor status)");
  m.def(
      "run_views(Tensor arena, Tensor offsets, Tensor sizes, Tensor shapes, str plans, Tensor "
      "indices, Tensor occurrences, int seed, int epoch) -> (Tensor[] images, Tensor status)");
  m.def("choose_seed(Tensor indices, Tensor occurrences, int seed, int epoch, int view) -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("run_plan", DTS_BOX(&run_plan));
  m.impl("run_views", DTS_BOX(&run_views));
  m.impl("choose_seed", DTS_BOX(&choose_seed));
}

}  // namespace dts::ops
