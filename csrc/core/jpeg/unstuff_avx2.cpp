// SPDX-License-Identifier: Apache-2.0
// Copies 32 bytes at a time; of those with an FF, the ones up to it.
#include "jpeg/unstuff_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

namespace dts {

[[gnu::target("avx2")]] bool unstuff_avx2(Unstuffing& work, const std::uint8_t* stop) {
  constexpr std::ptrdiff_t kStep = 32;
  const std::uint8_t* source = work.source;
  std::uint8_t* target = work.target;
  const __m256i ones = _mm256_set1_epi8(-1);
  // One more for the byte behind an FF.
  while (stop - source > kStep) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), bytes);
    const auto found = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, ones)));
    if (found == 0) {
      source += kStep;
      target += kStep;
      continue;
    }
    const int at = __builtin_ctz(found);
    if (source[at + 1] != 0) break;
    source += at + 2;
    target += at + 1;
  }
  work.source = source;
  work.target = target;
  return unstuff_generic(work, stop);
}

}  // namespace dts

#else

namespace dts {

bool unstuff_avx2(Unstuffing& work, const std::uint8_t* stop) {
  return unstuff_generic(work, stop);
}

}  // namespace dts

#endif
