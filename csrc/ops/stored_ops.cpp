// SPDX-License-Identifier: Apache-2.0
// Batches of a loader that was opened for bytes: the samples as they were read. Stateful. Each
// tensor holds the memory of the whole batch, which is used again when all of them are gone.
#include <memory>
#include <tuple>
#include <vector>

#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/loader_table.h"
#include "ops/tensors.h"
#include "ops/zone_views.h"
#include "pipeline/stored_sample.h"

namespace dts::ops {
namespace {

// uint8: [size], or of pixels [H, W, C], of one channel [H, W].
Tensor tensor_of(const std::shared_ptr<Zone>& zone, const StoredSample& stored) {
  static std::byte nothing{0};
  void* const data = stored.address == 0 ? &nothing : reinterpret_cast<void*>(stored.address);
  const std::int64_t h = stored.height;
  const std::int64_t w = stored.width;
  const std::int64_t c = stored.channels;
  if (h == 0) return view_of(zone, data, {stored.size}, {1}, ScalarType::Byte);
  if (c == 1) return view_of(zone, data, {h, w}, {w, 1}, ScalarType::Byte);
  return view_of(zone, data, {h, w, c}, {w * c, c, 1}, ScalarType::Byte);
}

std::tuple<std::int64_t, std::vector<Tensor>, Tensor, Tensor, Tensor> loader_next_bytes(
    std::int64_t loader, std::int64_t timeout_ms) {
  return guarded([&] {
    const auto open = loaders().get(loader);
    Batch batch;
    const NextState state = open->next(timeout_ms, batch);
    std::vector<Tensor> samples;
    if (state != NextState::kBatch) {
      const std::int64_t number = state == NextState::kEnd ? 2 : 0;
      return std::tuple{number, samples, new_int64(0), new_int64(0), new_int64(0)};
    }
    if (batch.zone->bytes() == nullptr) {
      throw InvalidArgument("the loader was not opened for bytes");
    }
    const auto* const stored = reinterpret_cast<const StoredSample*>(batch.zone->images());
    samples.reserve(static_cast<std::size_t>(batch.size));
    for (std::int64_t slot = 0; slot < batch.size; ++slot) {
      samples.push_back(tensor_of(batch.zone, stored[slot]));
    }
    return std::tuple{
        std::int64_t{1}, std::move(samples),
        view_of(batch.zone, batch.zone->labels(), {batch.size}, {1}, ScalarType::Long),
        view_of(batch.zone, batch.zone->indices(), {batch.size}, {1}, ScalarType::Long),
        int64_tensor(batch.foreign_slots)};
  });
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "loader_next_bytes(int loader, int timeout_ms) -> (int state, Tensor[] samples, "
      "Tensor labels, Tensor indices, Tensor foreign_slots)");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("loader_next_bytes", DTS_BOX(&loader_next_bytes));
}

}  // namespace dts::ops
