// SPDX-License-Identifier: Apache-2.0
// JPEGs of an export level from JPEGs in memory, side by side in torch's threads.
#include <limits>
#include <tuple>

#include "jpeg/export_level.h"
#include "jpeg/restart_interval.h"
#include "ops/decoder_checks.h"
#include "ops/encoded_samples.h"
#include "ops/ending.h"

namespace dts::ops {
namespace {

PassOrder pass_order_of(std::int64_t number) {
  if (number < 0 || number > 2) {
    throw InvalidArgument("pass_order is " + std::to_string(number) + ", expected 0, 1 or 2");
  }
  return static_cast<PassOrder>(number);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> export_jpegs(
    Tensor arena, Tensor offsets, Tensor sizes, std::int64_t level, std::int64_t restart_interval,
    std::int64_t pass_order, std::int64_t max_pixels, std::int64_t grain) {
  const EncodedSamples samples(arena, offsets, sizes);
  const PassOrder order = pass_order_of(pass_order);
  choose_restart_interval(restart_interval, 1);  // refuses what is no interval
  if (level < 1 || level > 3) {
    throw InvalidArgument("the level is " + std::to_string(level) + ", expected 1, 2 or 3");
  }
  EncodedOutput output(samples.count(), 3);
  in_parallel(
      samples.count(),
      [&](std::int64_t first, std::int64_t last) {
        LevelExporter exporter(order);
        exporter.set_checking(checks_decoder());
        const std::int64_t most =
            max_pixels < 0 ? std::numeric_limits<std::int64_t>::max() : max_pixels;
        for (std::int64_t i = first; i < last; ++i) {
          check_not_ending();
          Exported result;
          const DecodeStatus status =
              exporter.run(samples[i], static_cast<int>(level), restart_interval, &result, most);
          std::int64_t* const facts = output.facts(i);
          facts[0] = static_cast<std::int64_t>(status);
          facts[1] = result.width;
          facts[2] = result.height;
          output.keep_copy(i, result.bytes);
        }
      },
      grain);
  return output.join();
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "export_jpegs(Tensor arena, Tensor offsets, Tensor sizes, int level, int restart_interval, "
      "int pass_order, int max_pixels, int grain) -> (Tensor bytes, Tensor offsets, Tensor sizes, "
      "Tensor facts)");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("export_jpegs", DTS_BOX(&export_jpegs));
}

}  // namespace dts::ops
