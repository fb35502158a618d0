// SPDX-License-Identifier: Apache-2.0
// The blur's loops for AVX2: 32 results at a time in registers while the rows go by. No
// fused multiply-add, which would round otherwise than the generic loops.
#include "image/blur_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

constexpr int kVectors = 4;
constexpr std::int64_t kPiece = 8 * kVectors;

DTS_AVX2 void widen(const std::uint8_t* bytes, std::int64_t count, float* out) {
  for (; count >= 8; count -= 8, bytes += 8, out += 8) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
    _mm256_storeu_ps(out, _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(eight)));
  }
  blur_kernels_generic().widen(bytes, count, out);
}

DTS_AVX2_INLINE void sum_piece(const WeightedRows& job, std::int64_t at, __m256* sums) {
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sums[v] = _mm256_setzero_ps();
  for (std::int64_t r = 0; r < job.num_rows; ++r) {
    const float* const row = job.rows[r] + job.begin + at;
    const __m256 weight = _mm256_set1_ps(job.weights[r]);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = _mm256_add_ps(sums[v], _mm256_mul_ps(weight, _mm256_loadu_ps(row + 8 * v)));
    }
  }
}

// What whole pieces leave over.
WeightedRows rest_of(const WeightedRows& job, std::int64_t done) {
  WeightedRows rest = job;
  rest.begin += done;
  rest.count -= done;
  return rest;
}

DTS_AVX2 void sum(const WeightedRows& job, float* out) {
  std::int64_t at = 0;
  for (; at + kPiece <= job.count; at += kPiece) {
    __m256 sums[kVectors];
    sum_piece(job, at, sums);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm256_storeu_ps(out + at + 8 * v, sums[v]);
  }
  blur_kernels_generic().sum(rest_of(job, at), out + at);
}

DTS_AVX2 void sum_bytes(const WeightedRows& job, std::uint8_t* out) {
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  std::int64_t at = 0;
  for (; at + kPiece <= job.count; at += kPiece) {
    __m256 sums[kVectors];
    sum_piece(job, at, sums);
    // To the nearest, half to even; packing holds 255 as the limit.
    const __m256i a = _mm256_packs_epi32(_mm256_cvtps_epi32(sums[0]), _mm256_cvtps_epi32(sums[1]));
    const __m256i b = _mm256_packs_epi32(_mm256_cvtps_epi32(sums[2]), _mm256_cvtps_epi32(sums[3]));
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packus_epi16(a, b), in_order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), bytes);
  }
  blur_kernels_generic().sum_bytes(rest_of(job, at), out + at);
}

}  // namespace

const BlurKernels& blur_kernels_avx2() {
  static constexpr BlurKernels kernels = {.widen = widen, .sum = sum, .sum_bytes = sum_bytes};
  return kernels;
}

}  // namespace dts

#else

namespace dts {
const BlurKernels& blur_kernels_avx2() { return blur_kernels_generic(); }
}  // namespace dts

#endif
