// SPDX-License-Identifier: Apache-2.0
// CRC-32 as zlib defines it (polynomial 0xEDB88320), from libdeflate where it was
// found at build time (carry-less multiplication, several GB/s), else from zlib.
// Thread-safe; no state.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace dts {

// Continues `crc` (0 at the start) over `data`.
std::uint32_t crc32(std::uint32_t crc, ConstByteSpan data);

// CRC of A+B from crc(A), crc(B) and the length of B.
std::uint32_t crc32_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b);

// CRC of A followed by `count` zero bytes.
std::uint32_t crc32_zeros(std::uint32_t crc_a, std::uint64_t count);

// "libdeflate" or "zlib".
const char* crc32_backend();

}  // namespace dts
