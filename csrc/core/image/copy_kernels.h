// SPDX-License-Identifier: Apache-2.0
// Copying past the caches, for the SIMD levels that can. No state, no allocation.
#pragma once

#include <cstddef>

namespace dts {

// Any number of bytes, from and to any address. Off x86-64 an ordinary copy.
void copy_past_caches_avx2(const std::byte* from, std::size_t count, std::byte* to);

}  // namespace dts
