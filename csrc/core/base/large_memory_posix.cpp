// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>

#include <cstdint>
#include <limits>
#include <new>

#include "base/bytes.h"
#include "base/large_memory.h"

namespace dts {
namespace {

constexpr std::align_val_t kAlignment{kLargeAlignment};
// Of most systems; where they are larger, pieces are merely not on them.
constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
// A multiple of every page size in use; no more, so that no huge page is begun for a piece's end.
constexpr std::size_t kPageBytes = std::size_t{64} << 10;
// From here on at least half of a piece lies on whole huge pages.
constexpr std::size_t kLeastMappedBytes = 2 * kHugePageBytes;

// AddressSanitizer sees who reads behind the end only in memory that it gives out itself.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kMaps = false;
#else
constexpr bool kMaps = true;
#endif

bool is_mapped(std::size_t bytes) { return kMaps && bytes >= kLeastMappedBytes; }

std::byte* map(std::size_t bytes) {
  const std::size_t length = align_up(bytes, kPageBytes);
  // One huge page more, of which the ends go, so that it begins at the start of one.
  const std::size_t mapped_bytes = length + kHugePageBytes;
  void* const mapped =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const begin = static_cast<std::byte*>(mapped);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(begin) % kHugePageBytes;
  const std::size_t head = over == 0 ? 0 : kHugePageBytes - over;
  if (head > 0) ::munmap(begin, head);
  ::munmap(begin + head + length, kHugePageBytes - head);
#ifdef MADV_HUGEPAGE
  ::madvise(begin + head, length, MADV_HUGEPAGE);  // where it is refused small pages do
#endif
  return begin + head;
}

}  // namespace

std::byte* new_large(std::size_t bytes) {
  // More than an address space: sums below would wrap, and AddressSanitizer ends the process.
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) throw std::bad_alloc();
  if (is_mapped(bytes)) return map(bytes);
  return static_cast<std::byte*>(::operator new(bytes, kAlignment));
}

void delete_large(std::byte* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  if (is_mapped(bytes)) {
    ::munmap(data, align_up(bytes, kPageBytes));
  } else {
    ::operator delete(data, kAlignment);
  }
}

}  // namespace dts
