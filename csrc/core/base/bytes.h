// SPDX-License-Identifier: Apache-2.0
// Little-endian loads and stores, and the names of byte spans used all over the core.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace dts {

using ByteSpan = std::span<std::byte>;
using ConstByteSpan = std::span<const std::byte>;

static_assert(std::endian::native == std::endian::little,
              "the container is little-endian and is read without swapping");

template <class T>
inline T load_le(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <class T>
inline void store_le(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof(T));
}

inline constexpr std::uint64_t kSampleAlignment = 64;

// Rounds up to the next multiple of `alignment` (a power of two). The caller
// keeps `value` below 2^63.
constexpr std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment = kSampleAlignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace dts
