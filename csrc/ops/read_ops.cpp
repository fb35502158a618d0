// SPDX-License-Identifier: Apache-2.0
// Reading blocks and samples of an open file into tensors. Stateful (handles).
#include <string>
#include <tuple>
#include <vector>

#include "base/crc32.h"
#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/open_files.h"
#include "ops/tensors.h"

namespace dts::ops {
namespace {

// A CUDA `out` is filled through a page-locked buffer of one block.
void read_blocks_to_device(const VolumeSet& set, std::span<const std::int64_t> block_ids,
                           const Tensor& out, bool check, VolumeHandles& handles) {
  const auto block_size = static_cast<std::int64_t>(set.header().block_size);
  const std::int64_t size[1] = {block_size};
  Tensor staging =
      torch::stable::empty({size, 1}, ScalarType::Byte, std::nullopt, std::nullopt, out.is_cuda());
  Tensor flat = torch::stable::flatten(out, 0, -1);
  for (std::size_t i = 0; i < block_ids.size(); ++i) {
    check_not_ending();
    set.read_blocks(block_ids.subspan(i, 1), byte_view(staging, "staging"), check, handles);
    Tensor place =
        torch::stable::narrow(flat, 0, static_cast<std::int64_t>(i) * block_size, block_size);
    torch::stable::copy_(place, staging);
  }
}

void read_blocks(std::int64_t handle, Tensor block_ids, Tensor out, bool check) {
  guarded([&] {
    const auto open = open_files().get(handle);
    const VolumeSet& set = open->set();
    const auto ids = int64_view(block_ids, "block_ids");
    if (out.scalar_type() != ScalarType::Byte) throw InvalidArgument("out must be torch.uint8");
    if (!out.is_contiguous()) throw InvalidArgument("out must be contiguous");
    const std::uint64_t expected = ids.size() * std::uint64_t{set.header().block_size};
    if (static_cast<std::uint64_t>(out.numel()) != expected) {
      throw InvalidArgument("out has " + std::to_string(out.numel()) + " bytes, expected " +
                            std::to_string(expected) + " (" + std::to_string(ids.size()) +
                            " blocks)");
    }
    const OpenFile::Borrowed input(*open);
    if (out.is_cpu()) {
      set.read_blocks(ids, byte_view(out, "out"), check, *input, maybe_give_up());
      check_not_ending();  // or not all was read
    } else {
      read_blocks_to_device(set, ids, out, check, *input);
    }
  });
}

std::tuple<Tensor, Tensor, Tensor, Tensor> index_samples(std::int64_t handle, Tensor arena,
                                                         Tensor block_ids) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    const auto samples =
        open->set().index_samples(byte_view(arena, "arena"), int64_view(block_ids, "block_ids"));
    const auto count = static_cast<std::int64_t>(samples.size());
    std::tuple result{new_int64(count), new_int64(count), new_int64(count), new_int64(count)};
    auto* const blocks = static_cast<std::int64_t*>(std::get<0>(result).data_ptr());
    auto* const offsets = static_cast<std::int64_t*>(std::get<1>(result).data_ptr());
    auto* const sizes = static_cast<std::int64_t*>(std::get<2>(result).data_ptr());
    auto* const labels = static_cast<std::int64_t*>(std::get<3>(result).data_ptr());
    for (std::size_t i = 0; i < samples.size(); ++i) {
      blocks[i] = samples[i].block_id;
      offsets[i] = static_cast<std::int64_t>(samples[i].offset);
      sizes[i] = samples[i].size;
      labels[i] = samples[i].label;
    }
    return result;
  });
}

std::tuple<Tensor, Tensor, Tensor> read_samples(std::int64_t handle, Tensor stored_ids) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    const VolumeSet& set = open->set();
    const auto ids = int64_view(stored_ids, "stored_ids");
    Tensor offsets = new_int64(static_cast<std::int64_t>(ids.size()));
    const auto places = mutable_int64_view(offsets, "offsets");
    Tensor arena = new_bytes(static_cast<std::int64_t>(set.plan_samples(ids, places)));
    const OpenFile::Borrowed input(*open);
    set.read_samples(ids, places, byte_view(arena, "arena"), *input);
    Tensor sizes = new_int64(static_cast<std::int64_t>(ids.size()));
    const auto out = mutable_int64_view(sizes, "sizes");
    const auto& tables = set.tables();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const VolumeSet::Place place = set.sample_place(ids[i]);
      out[i] = tables[place.volume]->sizes[place.index];
    }
    return std::tuple{arena, offsets, sizes};
  });
}

// One problem a line; the core's messages hold no newline.
std::tuple<Tensor, std::string> check_blocks(std::int64_t handle, Tensor block_ids) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    const VolumeSet& set = open->set();
    const auto ids = int64_view(block_ids, "block_ids");
    Tensor crcs = new_int64(static_cast<std::int64_t>(ids.size()));
    const auto out = mutable_int64_view(crcs, "crcs");
    std::vector<std::byte> scratch(set.header().block_size);
    std::string problems;
    const OpenFile::Borrowed input(*open);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      check_not_ending();
      std::string problem;
      out[i] = set.check_block(ids[i], scratch, *input, problem);
      problems += problem + "\n";
    }
    return std::tuple{crcs, problems};
  });
}

std::int64_t file_crc(std::int64_t handle, std::int64_t volume, Tensor block_crcs) {
  return guarded([&] {
    const auto open = open_files().get(handle);
    return std::int64_t{open->volume(volume).file_crc(int64_view(block_crcs, "block_crcs"))};
  });
}

std::int64_t crc32_op(Tensor data) { return std::int64_t{crc32(0, byte_view(data, "data"))}; }

std::string crc32_backend_op() { return crc32_backend(); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def("read_blocks(int handle, Tensor block_ids, Tensor(a!) out, bool check) -> ()");
  m.def(
      "index_samples(int handle, Tensor arena, Tensor block_ids) -> "
      "(Tensor block, Tensor offsets, Tensor sizes, Tensor labels)");
  m.def(
      "read_samples(int handle, Tensor stored_ids) -> "
      "(Tensor arena, Tensor offsets, Tensor sizes)");
  m.def("check_blocks(int handle, Tensor block_ids) -> (Tensor crc32, str problems)");
  m.def("file_crc(int handle, int volume, Tensor block_crcs) -> int");
  m.def("crc32(Tensor data) -> int");
  m.def("crc32_backend() -> str");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("read_blocks", DTS_BOX(&read_blocks));
  m.impl("index_samples", DTS_BOX(&index_samples));
  m.impl("read_samples", DTS_BOX(&read_samples));
  m.impl("check_blocks", DTS_BOX(&check_blocks));
  m.impl("file_crc", DTS_BOX(&file_crc));
  m.impl("crc32", DTS_BOX(&crc32_op));
  m.impl("crc32_backend", DTS_BOX(&crc32_backend_op));
}

}  // namespace dts::ops
