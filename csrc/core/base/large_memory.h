// SPDX-License-Identifier: Apache-2.0
// Memory for what is read and written in bulk: batches, groups of blocks. Large pieces lie
// on huge pages where the system has them, as meeting each small page for the first time
// costs as much as filling it. Freed pieces go back to the system at once.
//
// Thread-safe. The memory's content is not defined.
#pragma once

#include <cstddef>
#include <memory>

namespace dts {

// Pieces begin at a multiple of this.
inline constexpr std::size_t kLargeAlignment = 4096;

// The caller owns it and gives it back with delete_large and the same number.
// std::bad_alloc.
std::byte* new_large(std::size_t bytes);
void delete_large(std::byte* data, std::size_t bytes) noexcept;

struct DeleteLarge {
  std::size_t bytes = 0;
  void operator()(std::byte* data) const noexcept { delete_large(data, bytes); }
};
using LargeMemory = std::unique_ptr<std::byte, DeleteLarge>;

inline LargeMemory make_large(std::size_t bytes) {
  return LargeMemory(new_large(bytes), DeleteLarge{bytes});
}

}  // namespace dts
