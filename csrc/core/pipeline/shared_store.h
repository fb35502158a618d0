// SPDX-License-Identifier: Apache-2.0
// One BlockStore for all processes of a user on this machine. Whichever process comes first
// makes it (shared_store_region.h); each fills in the blocks it needs, and none reads a block that
// another has read.
//
//   region: | head | state of each block | padding | block 0 | block 1 | ...
//
// A block's state is a lock that the kernel gives back when its holder dies, and absent /
// begun / ready. A block is checked against its CRC-32 before it is ready, whoever wants it.
// Nothing is left when the last process is gone, be it by kill -9.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pipeline/block_store.h"

namespace dts {

// The store of this user's processes that is named `fingerprint`: same name, same blocks. One
// object per process and name, however often it is opened. Falls back to a private store
// where the platform or its limits don't allow it, or what has the name doesn't fit.
// InvalidArgument: a name that is empty or longer than 64 characters, or wrong sizes.
// `patience_ms`: a process that holds a block and does not get on (it may be suspended) holds
// up the others so long; then they read the block into memory of their own.
std::shared_ptr<BlockStore> open_shared_store(const std::string& fingerprint,
                                              std::int64_t num_blocks, std::int64_t block_bytes,
                                              std::int64_t patience_ms = 10'000);

}  // namespace dts
