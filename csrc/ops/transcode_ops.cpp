// SPDX-License-Identifier: Apache-2.0
// JPEGs in memory written anew without loss, side by side in torch's threads.
#include <torch/csrc/stable/ops.h>

#include <string>
#include <tuple>
#include <vector>

#include "jpeg/restart_interval.h"
#include "jpeg/transcode.h"
#include "ops/encoded_samples.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/parallel.h"

namespace dts::ops {
namespace {

std::tuple<Tensor, Tensor, Tensor, Tensor> transcode_jpegs(Tensor arena, Tensor offsets,
                                                           Tensor sizes,
                                                           std::int64_t restart_interval,
                                                           bool keep_metadata, std::int64_t grain) {
  const EncodedSamples samples(arena, offsets, sizes);
  choose_restart_interval(restart_interval, 1);  // refuses what is no interval
  EncodedOutput output(samples.count(), 3);
  in_parallel(
      samples.count(),
      [&](std::int64_t first, std::int64_t last) {
        JpegTranscoder transcoder;
        for (std::int64_t i = first; i < last; ++i) {
          check_not_ending();
          Transcoded result;
          const TranscodeStatus status =
              transcoder.run(samples[i], {restart_interval, keep_metadata}, &result);
          std::int64_t* const facts = output.facts(i);
          facts[0] = static_cast<std::int64_t>(status);
          facts[1] = result.num_dropped;
          facts[2] = result.dropped_bytes;
          if (status == TranscodeStatus::kDone) {
            output.keep_copy(i, result.bytes);
          } else {
            output.refer_to(i, samples[i]);
          }
        }
      },
      grain);
  return output.join();
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "transcode_jpegs(Tensor arena, Tensor offsets, Tensor sizes, int restart_interval, "
      "bool keep_metadata, int grain) -> (Tensor bytes, Tensor offsets, Tensor sizes, Tensor "
      "facts)");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("transcode_jpegs", DTS_BOX(&transcode_jpegs));
}

}  // namespace dts::ops
