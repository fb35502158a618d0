// SPDX-License-Identifier: Apache-2.0
// Runs plans on one image after the other: draws the crop, decodes what it depends on,
// resamples, changes colours, and writes the values into one image of a batch. Of several
// views of an image the crops are drawn first, and what they depend on is decoded once.
//
// Input: encoded bytes or pixels, which must stay during the call. Output: memory of the
// caller, image_bytes() of each view's plan. One runner per thread; its decoder, weights and
// scratch memory are reused, nothing is allocated per image once sizes repeat.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/bytes.h"
#include "image/fused_normalize.h"
#include "image/view.h"
#include "jpeg/decode.h"
#include "order/choices.h"
#include "pipeline/sample_outline.h"
#include "pipeline/view_plans.h"

namespace dts {

class SampleRunner {
 public:
  // `views` is shared and must not change.
  explicit SampleRunner(std::shared_ptr<const ViewPlans> views);
  ~SampleRunner();
  SampleRunner(const SampleRunner&) = delete;
  SampleRunner& operator=(const SampleRunner&) = delete;

  // `key`: everything but `op`, which the plan's steps fill in; its view is that of the
  // first plan, and each further plan has the next number. `outs`: one for each plan.
  // Any status but kOk: `outs` hold anything and Python is to do this sample (decode it
  // with Pillow, or let the transform itself say why it can't be done); error() says why.
  // kUnsupported also stands for what the plan can't do to this image: a crop larger than
  // it, an output of another size than the plan's, more pixels than max_pixels.
  DecodeStatus run(ConstByteSpan encoded, const ChoiceKey& key, std::span<void* const> outs);
  // Pixels of plan.source_channels channels, or one where the plan takes RGB: gray is then
  // repeated (another number: kUnsupported).
  DecodeStatus run(const ConstImageView& pixels, const ChoiceKey& key, std::span<void* const> outs);
  // Of a lone view.
  DecodeStatus run(ConstByteSpan encoded, const ChoiceKey& key, void* out);
  DecodeStatus run(const ConstImageView& pixels, const ChoiceKey& key, void* out);

  // What run() would do to the JPEG, without decoding it, as far as the bytes and the key tell.
  // Of a lone view. kUnsupported also where a bilinear resize, flips and erasing to a constant
  // aren't all of it, or the JPEG is of an uncommon kind (jpeg/common_kind.h); `outline` then
  // holds anything.
  DecodeStatus outline(ConstByteSpan encoded, const ChoiceKey& key, SampleOutline* outline);

  // How run() stores values from now on; at first kCached.
  void set_stores(Stores stores);
  const std::string& error() const;
  // Behind a run() of encoded bytes: how they were decoded.
  DecodePath path() const;
  std::size_t held_bytes() const;
  // One very large image must not fix a thread's memory at its size for ever.
  void shrink(std::size_t keep_bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dts
