// SPDX-License-Identifier: Apache-2.0
// Where samples come from: .dts files, files, tensors of pixels, or several of these. All
// ops here are stateful (handles).
#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/open_files.h"
#include "ops/paths.h"
#include "ops/source_table.h"
#include "ops/tensors.h"
#include "pipeline/dts_source.h"
#include "pipeline/file_source.h"
#include "pipeline/joined_source.h"
#include "pipeline/pixel_source.h"

namespace dts::ops {
namespace {

void check_keep(std::int64_t keep, std::int64_t limit, const char* meaning) {
  if (keep >= 0 && keep <= limit) return;
  throw InvalidArgument("keep is " + std::to_string(keep) + ", expected " + meaning);
}

std::vector<std::int64_t> labels_of(const Tensor& labels) {
  const auto view = int64_view(labels, "labels");
  return {view.begin(), view.end()};
}

std::int64_t source_dts(std::int64_t file, std::int64_t keep) {
  return guarded([&] {
    check_keep(keep, 2, "0 (nothing), 1 (in memory) or 2 (in memory that processes share)");
    const auto open = open_files().get(file);
    // Shares the open file, so that closing its handle takes nothing away from the source.
    const std::shared_ptr<const VolumeSet> shared(open, &open->set());
    return sources().add(std::make_shared<DtsSource>(shared, static_cast<Keep>(keep)));
  });
}

std::int64_t source_files(Tensor paths, Tensor labels, std::int64_t keep) {
  return guarded([&] {
    check_keep(keep, 1, "0 (nothing) or 1 (in memory)");
    return sources().add(std::make_shared<FileSource>(split_paths(byte_view(paths, "paths")),
                                                      labels_of(labels), keep == 1));
  });
}

std::int64_t source_pixels(Tensor pixels, Tensor labels) {
  return guarded([&] {
    const ConstByteSpan bytes = byte_view(pixels, "pixels");
    if (pixels.dim() != 3 && pixels.dim() != 4) {
      throw InvalidArgument("pixels has " + std::to_string(pixels.dim()) +
                            " dimensions, expected 3 (N, H, W) or 4 (N, H, W, C)");
    }
    const std::int64_t channels = pixels.dim() == 4 ? pixels.size(3) : 1;
    const auto owner = std::make_shared<const Tensor>(pixels);
    return sources().add(std::make_shared<PixelSource>(bytes, pixels.size(1), pixels.size(2),
                                                       channels, labels_of(labels), owner));
  });
}

std::int64_t source_join(std::vector<std::int64_t> handles) {
  return guarded([&] {
    std::vector<std::shared_ptr<const SampleSource>> parts;
    for (const std::int64_t handle : handles) parts.push_back(sources().get(handle));
    return sources().add(std::make_shared<JoinedSource>(std::move(parts)));
  });
}

Tensor source_info(std::int64_t handle) {
  return guarded([&] {
    const auto source = sources().get(handle);
    const KeptBytes kept = source->kept();
    const std::int64_t facts[] = {source->num_samples(), source->num_blocks(),
                                  source->block_bytes(), kept.held_bytes,
                                  kept.is_shared,        kept.is_complete};
    return int64_tensor(facts);
  });
}

std::tuple<Tensor, Tensor> source_samples(std::int64_t handle, Tensor samples) {
  return guarded([&] {
    const auto source = sources().get(handle);
    const auto ids = int64_view(samples, "samples");
    const auto count = static_cast<std::int64_t>(ids.size());
    std::tuple result{new_int64(count), new_int64(count)};
    const auto labels = mutable_int64_view(std::get<0>(result), "labels");
    const auto indices = mutable_int64_view(std::get<1>(result), "indices");
    for (std::size_t i = 0; i < ids.size(); ++i) {
      labels[i] = source->label(ids[i]);
      indices[i] = source->choice_index(ids[i]);
    }
    return result;
  });
}

std::tuple<Tensor, Tensor, Tensor, Tensor> source_read(std::int64_t handle, Tensor samples) {
  return guarded([&] {
    const auto source = sources().get(handle);
    const auto ids = int64_view(samples, "samples");
    std::vector<SampleView> views(ids.size());
    ReadMemory memory;
    const auto reader = source->open_reader();
    source->read_samples(ids, memory, views, *reader);
    const auto count = static_cast<std::int64_t>(ids.size());
    Tensor offsets = new_int64(count);
    Tensor sizes = new_int64(count);
    const std::int64_t shape[2] = {count, 3};
    Tensor shapes = torch::stable::empty({shape, 2}, ScalarType::Long);
    const auto starts = mutable_int64_view(offsets, "offsets");
    const auto lengths = mutable_int64_view(sizes, "sizes");
    const auto sides = mutable_int64_view(shapes, "shapes");
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < views.size(); ++i) {
      starts[i] = static_cast<std::int64_t>(end);
      lengths[i] = views[i].is_missing ? -1 : static_cast<std::int64_t>(views[i].bytes.size());
      end += align_up(views[i].bytes.size());
      sides[3 * i] = views[i].height;
      sides[3 * i + 1] = views[i].width;
      sides[3 * i + 2] = views[i].channels;
    }
    Tensor arena = new_bytes(static_cast<std::int64_t>(end));
    const ByteSpan bytes = byte_view(arena, "arena");
    std::fill(bytes.begin(), bytes.end(), std::byte{0});
    for (std::size_t i = 0; i < views.size(); ++i) {
      std::copy(views[i].bytes.begin(), views[i].bytes.end(), bytes.begin() + starts[i]);
    }
    return std::tuple{arena, offsets, sizes, shapes};
  });
}

std::int64_t source_keep(std::int64_t handle, std::int64_t num_blocks, bool check) {
  return guarded([&] {
    const auto source = sources().get(handle);
    const auto reader = source->open_reader();
    std::int64_t done = 0;
    while (done < num_blocks && source->keep_next(check, *reader)) {
      check_not_ending();
      ++done;
    }
    return reader->blocks_read;
  });
}

void source_close(std::int64_t handle) { sources().take(handle); }

std::int64_t buffers_open() { return read_buffers().add(std::make_shared<ReadBuffers>()); }

void buffers_close(std::int64_t handle) { read_buffers().take(handle); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def("source_dts(int file, int keep) -> int");
  m.def("source_files(Tensor paths, Tensor labels, int keep) -> int");
  m.def("source_pixels(Tensor pixels, Tensor labels) -> int");
  m.def("source_join(int[] sources) -> int");
  m.def("source_info(int source) -> Tensor");
  m.def("source_samples(int source, Tensor samples) -> (Tensor labels, Tensor indices)");
  m.def(
      "source_read(int source, Tensor samples) -> "
      "(Tensor arena, Tensor offsets, Tensor sizes, Tensor shapes)");
  m.def("source_keep(int source, int num_blocks, bool check) -> int");
  m.def("source_close(int source) -> ()");
  m.def("buffers_open() -> int");
  m.def("buffers_close(int buffers) -> ()");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("source_dts", DTS_BOX(&source_dts));
  m.impl("source_files", DTS_BOX(&source_files));
  m.impl("source_pixels", DTS_BOX(&source_pixels));
  m.impl("source_join", DTS_BOX(&source_join));
  m.impl("source_info", DTS_BOX(&source_info));
  m.impl("source_samples", DTS_BOX(&source_samples));
  m.impl("source_read", DTS_BOX(&source_read));
  m.impl("source_keep", DTS_BOX(&source_keep));
  m.impl("source_close", DTS_BOX(&source_close));
  m.impl("buffers_open", DTS_BOX(&buffers_open));
  m.impl("buffers_close", DTS_BOX(&buffers_close));
}

}  // namespace dts::ops
