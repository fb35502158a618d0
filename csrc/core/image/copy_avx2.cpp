// SPDX-License-Identifier: Apache-2.0
// 128 bytes at a time by stores that don't read what they overwrite.
#include <algorithm>

#include "image/copy_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>

namespace dts {
namespace {

constexpr std::size_t kVector = 32;
constexpr std::size_t kStep = 4 * kVector;

}  // namespace

[[gnu::target("avx2")]] void copy_past_caches_avx2(const std::byte* from, std::size_t count,
                                                   std::byte* to) {
  // Such stores need an aligned address.
  const std::size_t before = -reinterpret_cast<std::uintptr_t>(to) % kVector;
  const std::size_t head = std::min(count, before);
  to = std::copy_n(from, head, to);
  from += head;
  count -= head;
  for (; count >= kStep; count -= kStep, from += kStep, to += kStep) {
    const auto* const source = reinterpret_cast<const __m256i*>(from);
    auto* const target = reinterpret_cast<__m256i*>(to);
    const __m256i first = _mm256_loadu_si256(source);
    const __m256i second = _mm256_loadu_si256(source + 1);
    const __m256i third = _mm256_loadu_si256(source + 2);
    const __m256i fourth = _mm256_loadu_si256(source + 3);
    _mm256_stream_si256(target, first);
    _mm256_stream_si256(target + 1, second);
    _mm256_stream_si256(target + 2, third);
    _mm256_stream_si256(target + 3, fourth);
  }
  std::copy_n(from, count, to);
  _mm_sfence();  // later stores of this thread may not be seen before these
}

}  // namespace dts

#else

namespace dts {
void copy_past_caches_avx2(const std::byte* from, std::size_t count, std::byte* to) {
  std::copy_n(from, count, to);
}
}  // namespace dts

#endif
