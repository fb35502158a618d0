// SPDX-License-Identifier: Apache-2.0
// The native loader behind handles: streams of samples in, batches out. All ops here are
// stateful. Images, labels and indices of a batch are views of one zone, which they keep
// from being used again.
#include <pthread.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/topology.h"
#include "ops/device_memory.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/loader_table.h"
#include "ops/numbers.h"
#include "ops/pixel_types.h"
#include "ops/plans.h"
#include "ops/source_table.h"
#include "ops/tensors.h"
#include "ops/zone_views.h"

namespace dts::ops {

// To the end of the process: its threads may run until then. A forked child gets it unlocked.
HandleTable<Loader>& loaders() {
  static auto* const table = new HandleTable<Loader>("loader");
  static const int registered =
      pthread_atfork([] { table->lock(); }, [] { table->unlock(); }, [] { table->unlock(); });
  static_cast<void>(registered);
  return *table;
}

namespace {

// Its place in the enum. InvalidArgument: there is none.
SampleForm form_of(std::int64_t number) {
  constexpr SampleForm kForms[] = {SampleForm::kImages, SampleForm::kOutlines, SampleForm::kBytes};
  if (number < 0 || number >= std::ssize(kForms)) {
    throw InvalidArgument("form is " + std::to_string(number) + ", expected 0 to 2");
  }
  return kForms[number];
}

// Of bytes, that of nothing.
std::shared_ptr<const ViewPlans> plans_for(SampleForm form, const std::string& plan) {
  if (form != SampleForm::kBytes) return plans_of(plan);
  return std::make_shared<const ViewPlans>(ViewPlans{{SamplePlan{}}});
}

std::int64_t loader_open(std::int64_t source, std::string plan, std::int64_t num_workers,
                         std::int64_t prefetch_batches, bool reproducible, Tensor cpus,
                         std::int64_t reader_threads, bool check_blocks, std::int64_t buffers,
                         std::int64_t form, std::int64_t device, std::string pci_bus_id) {
  return guarded([&] {
    LoaderOptions options;
    options.num_workers = narrow_count(num_workers, "num_workers");
    options.prefetch_batches = narrow_count(prefetch_batches, "prefetch_batches");
    options.reproducible = reproducible;
    for (const std::int64_t cpu : int64_view(cpus, "cpus")) {
      options.cpus.push_back(narrow_count(cpu, "a CPU"));
    }
    options.form = form_of(form);
    options.feeder.reader_threads = narrow_count(reader_threads, "reader_threads");
    options.feeder.check_blocks = check_blocks;
    // Batches that somebody else works on hold a unit each.
    if (options.form == SampleForm::kOutlines) options.feeder.single_units_ahead += 2;
    if (device >= 0) options.batch_memory = device_memory(device, pci_bus_id);
    if (buffers >= 0) options.feeder.buffers = read_buffers().get(buffers);
    return loaders().add(
        std::make_shared<Loader>(sources().get(source), plans_for(options.form, plan), options));
  });
}

void loader_start(std::int64_t loader, std::string plan, std::int64_t seed, std::int64_t epoch) {
  guarded([&] {
    loaders().get(loader)->start(plan.empty() ? nullptr : plans_of(plan),
                                 static_cast<std::uint64_t>(seed), narrow_u32(epoch, "epoch"));
  });
}

// The next `count` numbers of `all`, whose first unused one is `at`.
std::span<const std::int64_t> take(std::span<const std::int64_t> all, std::size_t& at,
                                   std::int64_t count, const char* what) {
  if (count < 0 || static_cast<std::uint64_t>(count) > all.size() - at) {
    throw InvalidArgument("the units ask for " + std::to_string(count) + " " + what + " where " +
                          std::to_string(all.size() - at) + " are left");
  }
  at += static_cast<std::size_t>(count);
  return all.subspan(at - static_cast<std::size_t>(count), static_cast<std::size_t>(count));
}

void check_all_taken(std::size_t taken, std::size_t there, const char* what) {
  if (taken == there) return;
  throw InvalidArgument("the units hold " + std::to_string(taken) + " " + what + " where " +
                        std::to_string(there) + " are given, expected as many");
}

void loader_append(std::int64_t loader, Tensor samples, Tensor occurrences, Tensor batch_sizes,
                   Tensor unit_sizes, Tensor unit_num_blocks, Tensor blocks) {
  guarded([&] {
    const auto ids = int64_view(samples, "samples");
    const auto sizes = int64_view(unit_sizes, "unit_sizes");
    const auto num_blocks = int64_view(unit_num_blocks, "unit_num_blocks");
    const auto block_ids = int64_view(blocks, "blocks");
    check_same_length(sizes.size(), "unit_sizes", num_blocks.size(), "unit_num_blocks");
    std::vector<ReadUnit> units(sizes.size());
    std::size_t sample = 0;
    std::size_t block = 0;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const auto own = take(ids, sample, sizes[i], "samples");
      const auto own_blocks = take(block_ids, block, num_blocks[i], "blocks");
      units[i].samples.assign(own.begin(), own.end());
      units[i].blocks.assign(own_blocks.begin(), own_blocks.end());
    }
    check_all_taken(sample, ids.size(), "samples");
    check_all_taken(block, block_ids.size(), "blocks");
    loaders().get(loader)->append(std::move(units), int64_view(occurrences, "occurrences"),
                                  int64_view(batch_sizes, "batch_sizes"));
  });
}

void loader_finish(std::int64_t loader) {
  guarded([&] { loaders().get(loader)->finish(); });
}

Tensor images_of(const Batch& batch, const SamplePlan& plan, std::int64_t offset) {
  const std::int64_t c = plan.tail.channels;
  const std::int64_t h = plan.height;
  const std::int64_t w = plan.width;
  void* const data = batch.zone->images() + offset;
  const ScalarType type = scalar_type_of(plan.tail.type);
  if (plan.tail.format == MemoryFormat::kChannelsLast) {
    return view_of(batch.zone, data, {batch.size, c, h, w}, {c * h * w, 1, w * c, c}, type);
  }
  return view_of(batch.zone, data, {batch.size, c, h, w}, {c * h * w, h * w, w, 1}, type);
}

// One tensor for each view.
std::vector<Tensor> views_of(const Batch& batch) {
  std::vector<std::int64_t> offsets;
  batch.plans->view_offsets(batch.size, offsets);
  std::vector<Tensor> views;
  for (std::size_t view = 0; view < offsets.size(); ++view) {
    views.push_back(images_of(batch, batch.plans->plans[view], offsets[view]));
  }
  return views;
}

std::tuple<std::int64_t, std::vector<Tensor>, Tensor, Tensor, Tensor, Tensor> loader_next(
    std::int64_t loader, std::int64_t timeout_ms) {
  return guarded([&] {
    const auto open = loaders().get(loader);
    Batch batch;
    const NextState state = open->next(timeout_ms, batch);
    if (state != NextState::kBatch) {
      const std::int64_t number = state == NextState::kEnd ? 2 : 0;
      return std::tuple{number,       std::vector<Tensor>(), new_int64(0),
                        new_int64(0), new_int64(0),          new_bytes(0)};
    }
    return std::tuple{
        std::int64_t{1},
        views_of(batch),
        view_of(batch.zone, batch.zone->labels(), {batch.size}, {1}, ScalarType::Long),
        view_of(batch.zone, batch.zone->indices(), {batch.size}, {1}, ScalarType::Long),
        int64_tensor(batch.foreign_slots),
        view_of(batch.zone, batch.zone->memory(),
                {static_cast<std::int64_t>(batch.zone->memory_bytes())}, {1}, ScalarType::Byte)};
  });
}

std::tuple<Tensor, Tensor, Tensor, Tensor> loader_take_foreign(std::int64_t loader) {
  return guarded([&] {
    const std::vector<ForeignSample> foreign = loaders().get(loader)->take_foreign();
    const auto count = static_cast<std::int64_t>(foreign.size());
    const std::int64_t shape[2] = {count, 7};
    Tensor info = torch::stable::empty({shape, 2}, ScalarType::Long);
    Tensor offsets = new_int64(count);
    Tensor sizes = new_int64(count);
    const auto rows = mutable_int64_view(info, "info");
    const auto starts = mutable_int64_view(offsets, "offsets");
    const auto lengths = mutable_int64_view(sizes, "sizes");
    std::int64_t end = 0;
    for (std::size_t i = 0; i < foreign.size(); ++i) {
      const ForeignSample& one = foreign[i];
      const std::int64_t row[7] = {one.batch,      one.slot,
                                   one.sample,     one.index,
                                   one.occurrence, static_cast<std::int64_t>(one.status),
                                   one.is_missing};
      std::copy(std::begin(row), std::end(row), rows.begin() + 7 * static_cast<std::ptrdiff_t>(i));
      starts[i] = end;
      lengths[i] = static_cast<std::int64_t>(one.bytes.size());
      end += lengths[i];
    }
    Tensor arena = new_bytes(end);
    const ByteSpan bytes = byte_view(arena, "arena");
    for (std::size_t i = 0; i < foreign.size(); ++i) {
      std::copy(foreign[i].bytes.begin(), foreign[i].bytes.end(), bytes.begin() + starts[i]);
    }
    return std::tuple{info, arena, offsets, sizes};
  });
}

std::int64_t loader_waiting(std::int64_t loader) {
  return guarded([&] { return loaders().get(loader)->num_units_waiting(); });
}

Tensor loader_stats(std::int64_t loader) {
  return guarded([&] {
    const LoaderStats stats = loaders().get(loader)->stats();
    const std::int64_t numbers[] = {stats.num_samples,      stats.num_batches,
                                    stats.num_foreign,      stats.work_ns,
                                    stats.wait_for_data_ns, stats.wait_for_room_ns,
                                    stats.consumer_wait_ns, stats.feeder.bytes_read,
                                    stats.feeder.read_ns,   stats.feeder.blocks_read,
                                    stats.num_spliced,      stats.num_own};
    return int64_tensor(numbers);
  });
}

void loader_stop(std::int64_t loader) {
  guarded([&] { loaders().get(loader)->stop(); });
}

// Another thread may be in next(), and hold the loader: it is woken, and ends it.
void loader_close(std::int64_t loader) {
  guarded([&] {
    const auto open = loaders().take(loader);
    try {
      open->stop();
    } catch (const InvalidArgument&) {  // it is another process's, and nothing of it runs here
    }
  });
}

// Of the device's NUMA node, where it has one and CPUs of it are allowed.
Tensor cpus_for_threads(std::string pci_bus_id) {
  return guarded([&] {
    const std::vector<int> allowed = allowed_cpus();
    std::vector<int> near;
    if (const auto node = node_of_device(pci_bus_id)) near = cpus_of_node(allowed, *node);
    return int64_tensor(spread_cpus(near.empty() ? allowed : near));
  });
}

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def(
      "loader_open(int source, str plan, int num_workers, int prefetch_batches, bool reproducible, "
      "Tensor cpus, int reader_threads, bool check_blocks, int buffers, int form, "
      "int device=-1, str pci_bus_id=\"\") -> int");
  m.def("loader_start(int loader, str plan, int seed, int epoch) -> ()");
  m.def(
      "loader_append(int loader, Tensor samples, Tensor occurrences, Tensor batch_sizes, "
      "Tensor unit_sizes, Tensor unit_num_blocks, Tensor blocks) -> ()");
  m.def("loader_finish(int loader) -> ()");
  m.def(
      "loader_next(int loader, int timeout_ms) -> "
      "(int state, Tensor[] images, Tensor labels, Tensor indices, Tensor foreign_slots, "
      "Tensor memory)");
  m.def(
      "loader_take_foreign(int loader) -> "
      "(Tensor info, Tensor arena, Tensor offsets, Tensor sizes)");
  m.def("loader_waiting(int loader) -> int");
  m.def("loader_stats(int loader) -> Tensor");
  m.def("loader_stop(int loader) -> ()");
  m.def("loader_close(int loader) -> ()");
  m.def("cpus_for_threads(str pci_bus_id=\"\") -> Tensor");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("loader_open", DTS_BOX(&loader_open));
  m.impl("loader_start", DTS_BOX(&loader_start));
  m.impl("loader_append", DTS_BOX(&loader_append));
  m.impl("loader_finish", DTS_BOX(&loader_finish));
  m.impl("loader_next", DTS_BOX(&loader_next));
  m.impl("loader_take_foreign", DTS_BOX(&loader_take_foreign));
  m.impl("loader_waiting", DTS_BOX(&loader_waiting));
  m.impl("loader_stats", DTS_BOX(&loader_stats));
  m.impl("loader_stop", DTS_BOX(&loader_stop));
  m.impl("loader_close", DTS_BOX(&loader_close));
  m.impl("cpus_for_threads", DTS_BOX(&cpus_for_threads));
}

}  // namespace dts::ops
