// SPDX-License-Identifier: Apache-2.0
// The order of an epoch and the packing of a file: pure functions of their arguments,
// but for the epoch board, which lives in the caller's shared memory.
#include <tuple>

#include "ops/ending.h"
#include "ops/guard.h"
#include "ops/numbers.h"
#include "ops/tensors.h"
#include "order/epoch_board.h"
#include "order/packing.h"
#include "order/shard.h"
#include "order/shuffle.h"

namespace dts::ops {
namespace {

// Seeds and epochs are 64-bit words; a schema's int is signed.
std::uint64_t word(std::int64_t value) { return static_cast<std::uint64_t>(value); }

Tensor block_order_op(std::int64_t num_blocks, std::int64_t seed, std::int64_t epoch) {
  return int64_tensor(block_order(num_blocks, word(seed), word(epoch)));
}

Tensor sample_order_op(Tensor block_sizes, std::int64_t seed, std::int64_t epoch,
                       std::int64_t shuffle_window, std::int64_t num_replicas, std::int64_t rank) {
  const auto sizes = int64_view(block_sizes, "block_sizes");
  Tensor result = new_int64(num_rank_samples(sizes, num_replicas, rank));
  write_sample_order(sizes, word(seed), word(epoch), shuffle_window, num_replicas, rank,
                     mutable_int64_view(result, "result"));
  return result;
}

Tensor rank_runs_op(Tensor block_sizes, std::int64_t seed, std::int64_t epoch,
                    std::int64_t shuffle_window, std::int64_t num_replicas, std::int64_t rank) {
  const auto runs = rank_runs(int64_view(block_sizes, "block_sizes"), word(seed), word(epoch),
                              shuffle_window, num_replicas, rank);
  const std::int64_t size[2] = {static_cast<std::int64_t>(runs.size()), 4};
  Tensor result = torch::stable::empty({size, 2}, ScalarType::Long);
  auto* out = static_cast<std::int64_t*>(result.data_ptr());
  for (const BlockRun& run : runs) {
    *out++ = run.block_id;
    *out++ = run.first_sample;
    *out++ = run.num_samples;
    *out++ = run.group;
  }
  return result;
}

std::tuple<Tensor, Tensor, std::int64_t> pack_samples_op(Tensor sizes, std::int64_t block_size,
                                                         std::int64_t block_header_size,
                                                         std::int64_t min_block_header_size,
                                                         bool shuffled, std::int64_t seed) {
  PackingOptions options;
  options.block_size = word(block_size);
  options.block_header_size = narrow_u32(block_header_size, "block_header_size");
  options.min_block_header_size = narrow_u32(min_block_header_size, "min_block_header_size");
  options.shuffled = shuffled;
  options.seed = word(seed);
  const Packing packing = pack_samples(int64_view(sizes, "sizes"), options);
  return {int64_tensor(packing.order), int64_tensor(packing.block_counts),
          std::int64_t{packing.block_header_size}};
}

std::int64_t packing_bound_op(Tensor sizes, std::int64_t block_size,
                              std::int64_t block_header_size) {
  return packing_bound(int64_view(sizes, "sizes"), word(block_size),
                       narrow_u32(block_header_size, "block_header_size"));
}

std::span<std::int64_t> board_view(const Tensor& board) {
  const auto words = mutable_int64_view(board, "board");
  if (words.size() != kEpochBoardWords) {
    throw InvalidArgument("board has " + std::to_string(words.size()) + " words, expected " +
                          std::to_string(kEpochBoardWords));
  }
  return words;
}

std::tuple<std::int64_t, std::int64_t> claim_epoch_op(Tensor board, std::int64_t instance,
                                                      std::int64_t iteration, std::int64_t worker,
                                                      std::int64_t seed) {
  const EpochClaim claim = claim_epoch(board_view(board), instance, iteration, worker, seed);
  return {claim.epoch, claim.seed};
}

void set_next_epoch_op(Tensor board, std::int64_t epoch) {
  set_next_epoch(board_view(board), epoch);
}

std::int64_t epoch_board_words() { return static_cast<std::int64_t>(kEpochBoardWords); }

}  // namespace

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def("block_order(int num_blocks, int seed, int epoch) -> Tensor");
  m.def(
      "sample_order(Tensor block_sizes, int seed, int epoch, int shuffle_window, "
      "int num_replicas, int rank) -> Tensor");
  m.def(
      "rank_runs(Tensor block_sizes, int seed, int epoch, int shuffle_window, "
      "int num_replicas, int rank) -> Tensor");
  m.def(
      "pack_samples(Tensor sizes, int block_size, int block_header_size, "
      "int min_block_header_size, bool shuffled, int seed) -> "
      "(Tensor order, Tensor block_counts, int block_header_size)");
  m.def("packing_bound(Tensor sizes, int block_size, int block_header_size) -> int");
  m.def(
      "claim_epoch(Tensor(a!) board, int instance, int iteration, int worker, int seed) -> "
      "(int epoch, int seed)");
  m.def("set_next_epoch(Tensor(a!) board, int epoch) -> ()");
  m.def("epoch_board_words() -> int");
}

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("block_order", DTS_BOX(&block_order_op));
  m.impl("sample_order", DTS_BOX(&sample_order_op));
  m.impl("rank_runs", DTS_BOX(&rank_runs_op));
  m.impl("pack_samples", DTS_BOX(&pack_samples_op));
  m.impl("packing_bound", DTS_BOX(&packing_bound_op));
  m.impl("claim_epoch", DTS_BOX(&claim_epoch_op));
  m.impl("set_next_epoch", DTS_BOX(&set_next_epoch_op));
  m.impl("epoch_board_words", DTS_BOX(&epoch_board_words));
}

}  // namespace dts::ops
