// SPDX-License-Identifier: Apache-2.0
// The small transforms for AVX2: four blocks at a time. Products come from the multiply-add of
// 16-bit pairs, as in idct_avx2.cpp.
#include "jpeg/scaled_idct_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

using namespace idct;

struct Blocks {
  const std::int16_t* of[4];
};

// Blocks from number i on; behind the last one it again.
DTS_AVX2_INLINE Blocks blocks_from(const IdctRow& job, std::int64_t i) {
  Blocks blocks;
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    blocks.of[k] = job.blocks + kBlockCoefficients * std::min(i + k, job.num_blocks - 1);
  }
  return blocks;
}

DTS_AVX2_INLINE __m128i load_64(const std::int16_t* at) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
}

DTS_AVX2_INLINE std::int32_t load_32(const void* at) {
  std::int32_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

// Four coefficients of row v of each block, dequantized: blocks 0 1, then 2 3.
DTS_AVX2_INLINE __m256i load_row(const Blocks& blocks, __m256i table, int v) {
  const __m128i first =
      _mm_unpacklo_epi64(load_64(blocks.of[0] + 8 * v), load_64(blocks.of[1] + 8 * v));
  const __m128i second =
      _mm_unpacklo_epi64(load_64(blocks.of[2] + 8 * v), load_64(blocks.of[3] + 8 * v));
  return _mm256_mullo_epi16(_mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1),
                            table);
}

// Of each pair of 16-bit values: the first times `a` plus the second times `b`.
DTS_AVX2_INLINE __m256i weigh(__m256i pairs, int a, int b) {
  const std::uint32_t weights =
      static_cast<std::uint32_t>(b) << 16 | (static_cast<std::uint32_t>(a) & 0xFFFF);
  return _mm256_madd_epi16(pairs, _mm256_set1_epi32(static_cast<int>(weights)));
}

struct Four {
  __m256i of[4];
};

// One dimension. `pair_02`, `pair_13`: inputs side by side.
template <int shift>
DTS_AVX2_INLINE Four transform(__m256i pair_02, __m256i pair_13) {
  constexpr int one = 1 << kConstBits, large = k0_541 + k0_765, small = k0_541;
  const __m256i round = _mm256_set1_epi32(1 << (shift - 1));
  const __m256i sum = _mm256_add_epi32(weigh(pair_02, one, one), round);
  const __m256i gap = _mm256_add_epi32(weigh(pair_02, one, -one), round);
  const __m256i outer = weigh(pair_13, large, small);
  const __m256i inner = weigh(pair_13, small, -large);
  return {{_mm256_srai_epi32(_mm256_add_epi32(sum, outer), shift),
           _mm256_srai_epi32(_mm256_add_epi32(gap, inner), shift),
           _mm256_srai_epi32(_mm256_sub_epi32(gap, inner), shift),
           _mm256_srai_epi32(_mm256_sub_epi32(sum, outer), shift)}};
}

// Four rows of a block in each half, their columns as pairs 0 2 and 1 3 side by side: the samples,
// row by row.
DTS_AVX2_INLINE __m256i second_pass(__m256i pairs_0, __m256i pairs_1, __m256i pairs_2,
                                    __m256i pairs_3, bool is_high) {
  const __m256i a =
      is_high ? _mm256_unpackhi_epi32(pairs_0, pairs_1) : _mm256_unpacklo_epi32(pairs_0, pairs_1);
  const __m256i b =
      is_high ? _mm256_unpackhi_epi32(pairs_2, pairs_3) : _mm256_unpacklo_epi32(pairs_2, pairs_3);
  const Four columns = transform<kShift2>(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
  const __m256i by_column = _mm256_packs_epi16(_mm256_packs_epi32(columns.of[0], columns.of[1]),
                                               _mm256_packs_epi32(columns.of[2], columns.of[3]));
  return _mm256_shuffle_epi8(by_column, _mm256_broadcastsi128_si256(_mm_setr_epi8(
                                            0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15)));
}

DTS_AVX2_INLINE void store_two_rows(__m256i samples, std::uint8_t* out, std::int64_t stride) {
  const __m256i rows = _mm256_permute4x64_epi64(samples, 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(rows));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + stride), _mm256_extracti128_si256(rows, 1));
}

// The first two coefficients of row v of each block.
DTS_AVX2_INLINE __m128i load_pairs(const Blocks& blocks, int v) {
  return _mm_setr_epi32(load_32(blocks.of[0] + 8 * v), load_32(blocks.of[1] + 8 * v),
                        load_32(blocks.of[2] + 8 * v), load_32(blocks.of[3] + 8 * v));
}

// Of each pair the left sample, then the right ones.
DTS_AVX2_INLINE __m128i side_by_side(__m128i pairs) {
  const __m128i minus = _mm_set1_epi32(static_cast<int>(0xFFFF0001u));
  const __m128i round = _mm_set1_epi32(4);
  const __m128i left = _mm_add_epi32(_mm_madd_epi16(pairs, _mm_set1_epi16(1)), round);
  const __m128i right = _mm_add_epi32(_mm_madd_epi16(pairs, minus), round);
  return _mm_packs_epi32(_mm_srai_epi32(left, 3), _mm_srai_epi32(right, 3));
}

}  // namespace

DTS_AVX2 void idct_row_4_avx2(const IdctRow& job) {
  __m256i table[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    std::int64_t row;
    std::memcpy(&row, job.table + 8 * v, sizeof row);
    table[v] = _mm256_set1_epi64x(row);
  }
  const __m256i in_pairs = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15));
  const __m256i center = _mm256_set1_epi8(-128);
  for (std::int64_t i = 0; i < job.num_blocks; i += 4) {
    const Blocks blocks = blocks_from(job, i);
    __m256i rows[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) rows[v] = load_row(blocks, table[v], v);
    // Blocks 0 and 2, then 1 and 3.
    const Four low = transform<kShift1>(_mm256_unpacklo_epi16(rows[0], rows[2]),
                                        _mm256_unpacklo_epi16(rows[1], rows[3]));
    const Four high = transform<kShift1>(_mm256_unpackhi_epi16(rows[0], rows[2]),
                                         _mm256_unpackhi_epi16(rows[1], rows[3]));
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      rows[y] = _mm256_shuffle_epi8(_mm256_packs_epi32(low.of[y], high.of[y]), in_pairs);
    }
    const __m256i even = second_pass(rows[0], rows[1], rows[2], rows[3], false);
    const __m256i odd = second_pass(rows[0], rows[1], rows[2], rows[3], true);
    std::uint8_t* const out = job.out + 4 * i;
    store_two_rows(_mm256_xor_si256(_mm256_unpacklo_epi32(even, odd), center), out, job.stride);
    store_two_rows(_mm256_xor_si256(_mm256_unpackhi_epi32(even, odd), center), out + 2 * job.stride,
                   job.stride);
  }
}

DTS_AVX2 void idct_row_2_avx2(const IdctRow& job) {
  const __m128i upper_table = _mm_set1_epi32(load_32(job.table));
  const __m128i lower_table = _mm_set1_epi32(load_32(job.table + 8));
  for (std::int64_t i = 0; i < job.num_blocks; i += 4) {
    const Blocks blocks = blocks_from(job, i);
    const __m128i upper = _mm_mullo_epi16(load_pairs(blocks, 0), upper_table);
    const __m128i lower = _mm_mullo_epi16(load_pairs(blocks, 1), lower_table);
    const __m128i samples = _mm_packs_epi16(side_by_side(_mm_adds_epi16(upper, lower)),
                                            side_by_side(_mm_subs_epi16(upper, lower)));
    const __m128i rows = _mm_xor_si128(
        _mm_shuffle_epi8(samples,
                         _mm_setr_epi8(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15)),
        _mm_set1_epi8(-128));
    std::uint8_t* const out = job.out + 2 * i;
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), rows);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + job.stride), _mm_unpackhi_epi64(rows, rows));
  }
}

}  // namespace dts

#else

namespace dts {
void idct_row_4_avx2(const IdctRow& job) { idct_row_4_generic(job); }
void idct_row_2_avx2(const IdctRow& job) { idct_row_2_generic(job); }
}  // namespace dts

#endif
