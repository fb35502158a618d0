// SPDX-License-Identifier: Apache-2.0
// Copies bytes that the thread which copies them won't look at again. Large pieces go past the
// caches: what would be overwritten is not read first, and other threads' data stay there.
// Thread-safe; no state, no allocation.
#pragma once

#include "base/bytes.h"

namespace dts {

// Pieces below this go through the caches: whoever gets them may well find them there.
inline constexpr std::size_t kMinPastCaches = std::size_t{32} << 10;

// `to` has room for as many bytes, elsewhere. When it returns other threads may be told of them.
void copy_away(ConstByteSpan from, std::byte* to);

}  // namespace dts
