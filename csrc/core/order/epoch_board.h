// SPDX-License-Identifier: Apache-2.0
// Which epoch an iteration has, agreed by the worker processes of a DataLoader through
// a small board in shared memory. The parent is not called when an IterableDataset is
// iterated in workers, so workers find out among themselves: the first to start an
// iteration takes the next epoch, the others of the same iteration find its number.
#pragma once

#include <cstdint>
#include <span>

namespace dts {

inline constexpr std::size_t kEpochBoardWords = 1024;  // int64 words, zeroed at creation

struct EpochClaim {
  std::int64_t epoch;
  std::int64_t seed;
};

// Words of the board may be shared by processes and threads; a spin lock in the board
// guards them (taken over when its holder has died). `instance`: number that all workers
// of one DataLoader iterator share; `iteration`: how often this worker iterated before
// (persistent workers); `worker`: its id. A worker that finds itself already in
// (instance, iteration) starts a new epoch. instance < 0: no workers, always a new epoch.
// `seed`: becomes the board's seed if none is set yet; the seed in force is returned.
EpochClaim claim_epoch(std::span<std::int64_t> board, std::int64_t instance, std::int64_t iteration,
                       std::int64_t worker, std::int64_t seed);

// The next claim that opens an epoch gets `epoch`.
void set_next_epoch(std::span<std::int64_t> board, std::int64_t epoch);

}  // namespace dts
