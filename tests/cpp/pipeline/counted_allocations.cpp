// SPDX-License-Identifier: Apache-2.0
#include "pipeline/counted_allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> num_calls{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  num_calls.fetch_add(1, std::memory_order_relaxed);
  // aligned_alloc takes whole multiples only.
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* const memory = alignment > alignof(std::max_align_t)
                           ? std::aligned_alloc(alignment, rounded)
                           : std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

namespace dts::testing {

std::int64_t num_allocations() { return num_calls.load(std::memory_order_relaxed); }

}  // namespace dts::testing

// The forms that the standard library's others call; under AddressSanitizer those without
// exceptions are its own, whose memory is not for the operators below.
void* operator new(std::size_t bytes) { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return allocate(bytes, 1);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
