// SPDX-License-Identifier: Apache-2.0
// Batches of a loader that was opened for outlines: what is to be done to each JPEG, and where
// its bytes are. Stateful. `held` keeps the bytes where they are as long as it lives.
#include <memory>
#include <tuple>

#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/loader_table.h"
#include "ops/tensors.h"
#include "ops/zone_views.h"
#include "pipeline/sample_outline.h"

namespace dts::ops {
namespace {

std::tuple<std::int64_t, Tensor, Tensor, Tensor, Tensor, Tensor> loader_next_outlines(
    std::int64_t loader, std::int64_t timeout_ms) {
  return guarded([&] {
    static std::byte nothing{0};
    const auto open = loaders().get(loader);
    Batch batch;
    const NextState state = open->next(timeout_ms, batch);
    if (state != NextState::kBatch) {
      const std::int64_t number = state == NextState::kEnd ? 2 : 0;
      return std::tuple{number,       new_bytes(0), new_int64(0),
                        new_int64(0), new_int64(0), new_bytes(0)};
    }
    if (!batch.held) throw InvalidArgument("the loader was not opened for outlines");
    constexpr auto kBytes = static_cast<std::int64_t>(sizeof(SampleOutline));
    return std::tuple{
        std::int64_t{1},
        view_of(batch.zone, batch.zone->images(), {batch.size, kBytes}, {kBytes, 1},
                ScalarType::Byte),
        view_of(batch.zone, batch.zone->labels(), {batch.size}, {1}, ScalarType::Long),
        view_of(batch.zone, batch.zone->indices(), {batch.size}, {1}, ScalarType::Long),
        int64_tensor(batch.foreign_slots),
        view_of(batch.held, &nothing, {1}, {1}, ScalarType::Byte)};
  });
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "loader_next_outlines(int loader, int timeout_ms) -> (int state, Tensor outlines, "
      "Tensor labels, Tensor indices, Tensor foreign_slots, Tensor held)");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("loader_next_outlines", DTS_BOX(&loader_next_outlines));
}

}  // namespace dts::ops
