// SPDX-License-Identifier: Apache-2.0
// 64 bytes at a time beside the 64 that begin one further: no branch but for a marker.
#include "jpeg/restart_scan_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

constexpr std::size_t kStep = 64;

// A vector of 0xFF where a marker's FF stands.
DTS_AVX2_INLINE __m256i markers_at(const std::uint8_t* at) {
  const __m256i ones = _mm256_set1_epi8(-1);
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i codes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 1));
  const __m256i no_code = _mm256_or_si256(_mm256_cmpeq_epi8(codes, _mm256_setzero_si256()),
                                          _mm256_cmpeq_epi8(codes, ones));
  return _mm256_andnot_si256(no_code, _mm256_cmpeq_epi8(bytes, ones));
}

DTS_AVX2_INLINE std::uint64_t bits_of(__m256i low, __m256i high) {
  const auto low_bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(low));
  const auto high_bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(high));
  return low_bits | std::uint64_t{high_bits} << 32;
}

}  // namespace

DTS_AVX2 void search_markers_avx2(MarkerSearch& search) {
  // On a copy, which can stay in registers.
  MarkerSearch walk = search;
  for (; walk.size - walk.position > kStep; walk.position += kStep) {
    const std::uint8_t* const here = walk.data + walk.position;
    _mm_prefetch(reinterpret_cast<const char*>(here + 1024), _MM_HINT_T0);
    const __m256i low = markers_at(here), high = markers_at(here + kStep / 2);
    const __m256i any = _mm256_or_si256(low, high);
    if (_mm256_testz_si256(any, any) != 0) continue;
    for (std::uint64_t bits = bits_of(low, high); bits != 0; bits &= bits - 1) {
      const std::size_t at = walk.position + static_cast<std::size_t>(__builtin_ctzll(bits));
      if (walk.passes(at)) continue;
      walk.position = at;
      search = walk;
      return;
    }
  }
  search = walk;
  search_markers_generic(search);
}

}  // namespace dts

#else

namespace dts {

void search_markers_avx2(MarkerSearch& search) { search_markers_generic(search); }

}  // namespace dts

#endif
