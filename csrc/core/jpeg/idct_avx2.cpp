// SPDX-License-Identifier: Apache-2.0
// The inverse transform for AVX2: two blocks at a time, one in each half of the registers.
// Products come from the multiply-add of 16-bit pairs, so values that are multiplied together
// lie side by side: in the first pass by interleaving rows, in the second because the
// coefficients between the passes are turned around two columns at a time.
#include "jpeg/idct_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstring>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

using namespace idct;

// The table, each row of it twice: for both blocks.
struct WideTable {
  alignas(32) std::array<std::int16_t, 128> values;
};

// In zigzag order the first ten coefficients lie in the first four columns and rows.
constexpr int kCornerEnd = 10;

struct Halves {
  __m256i low, high;
};

// Of each pair of 16-bit values: the first times `a` plus the second times `b`.
DTS_AVX2_INLINE __m256i weigh(__m256i pairs, int a, int b) {
  const std::uint32_t weights =
      static_cast<std::uint32_t>(b) << 16 | (static_cast<std::uint32_t>(a) & 0xFFFF);
  return _mm256_madd_epi16(pairs, _mm256_set1_epi32(static_cast<int>(weights)));
}

DTS_AVX2_INLINE __m256i twice(__m128i half) { return _mm256_broadcastsi128_si256(half); }

// Row `v` of both blocks, dequantized.
DTS_AVX2_INLINE __m256i load_row(const std::int16_t* block, const std::int16_t* next,
                                 const WideTable& table, int v) {
  const __m128i a = _mm_load_si128(reinterpret_cast<const __m128i*>(block + 8 * v));
  const __m128i b = _mm_load_si128(reinterpret_cast<const __m128i*>(next + 8 * v));
  // A blend runs on more ports than an insertion.
  const __m256i both = _mm256_blend_epi32(_mm256_castsi128_si256(a), twice(b), 0xF0);
  return _mm256_mullo_epi16(
      both, _mm256_load_si256(reinterpret_cast<const __m256i*>(table.values.data() + 16 * v)));
}

struct Four {
  __m256i of[4];
};

// What the even inputs give, rounding included. `sum` and `gap`: inputs 0 and 4 added and
// subtracted, scaled; `pair_26`: inputs 2 and 6 side by side.
DTS_AVX2_INLINE Four even_part(__m256i sum, __m256i gap, __m256i pair_26) {
  const __m256i low = weigh(pair_26, k0_541 + k0_765, k0_541);
  const __m256i high = weigh(pair_26, k0_541, k0_541 - k1_847);
  return {{_mm256_add_epi32(sum, low), _mm256_add_epi32(gap, high), _mm256_sub_epi32(gap, high),
           _mm256_sub_epi32(sum, low)}};
}

DTS_AVX2_INLINE Four odd_part(__m256i pair_17, __m256i pair_53) {
  const __m256i sums = _mm256_add_epi16(pair_17, pair_53);  // inputs 1 + 5 and 7 + 3
  const __m256i z3 = weigh(sums, k1_175, k1_175 - k1_961);
  const __m256i z4 = weigh(sums, k1_175 - k0_390, k1_175);
  return {{
      _mm256_add_epi32(weigh(pair_17, k1_501 - k0_899, -k0_899), z4),
      _mm256_add_epi32(weigh(pair_53, -k2_562, k3_072 - k2_562), z3),
      _mm256_add_epi32(weigh(pair_53, k2_053 - k2_562, -k2_562), z4),
      _mm256_add_epi32(weigh(pair_17, -k0_899, k0_298 - k0_899), z3),
  }};
}

struct Eight {
  __m256i of[8];
};

DTS_AVX2_INLINE Eight butterfly(const Four& even, const Four& odd) {
  Eight out;
#pragma GCC unroll 4
  for (int k = 0; k < 4; ++k) {
    out.of[k] = _mm256_add_epi32(even.of[k], odd.of[k]);
    out.of[7 - k] = _mm256_sub_epi32(even.of[k], odd.of[k]);
  }
  return out;
}

// Scaled values with rounding for the first pass: `unpacked` has in the upper 16 bits the value,
// in the lower ones what becomes the rounding.
DTS_AVX2_INLINE __m256i scaled(__m256i unpacked) {
  return _mm256_srai_epi32(unpacked, 16 - kConstBits);
}

// Columns 0-3 (`half` 0) or 4-7 of the first pass.
template <int half>
DTS_AVX2_INLINE __m256i interleave(__m256i a, __m256i b) {
  return half == 0 ? _mm256_unpacklo_epi16(a, b) : _mm256_unpackhi_epi16(a, b);
}

// What the first pass leaves, in 16 bits.
DTS_AVX2_INLINE __m256i without_fraction(__m256i a, __m256i b) {
  return _mm256_packs_epi32(_mm256_srai_epi32(a, kShift1), _mm256_srai_epi32(b, kShift1));
}

template <int half>
DTS_AVX2_INLINE Eight first_pass(const __m256i (&rows)[8]) {
  const __m256i round = _mm256_set1_epi16(1 << (kShift1 - 1 + 16 - kConstBits));
  const __m256i sum = scaled(interleave<half>(round, _mm256_add_epi16(rows[0], rows[4])));
  const __m256i gap = scaled(interleave<half>(round, _mm256_sub_epi16(rows[0], rows[4])));
  return butterfly(
      even_part(sum, gap, interleave<half>(rows[2], rows[6])),
      odd_part(interleave<half>(rows[1], rows[7]), interleave<half>(rows[5], rows[3])));
}

// Four rows, from each the pairs of columns 0 4, 1 7, 5 3, 2 6.
struct Pairs {
  __m256i of_04, of_17, of_53, of_26;
};

DTS_AVX2_INLINE Pairs turn(__m256i r0, __m256i r1, __m256i r2, __m256i r3) {
  const __m256i a = _mm256_unpacklo_epi32(r0, r1), b = _mm256_unpackhi_epi32(r0, r1);
  const __m256i c = _mm256_unpacklo_epi32(r2, r3), d = _mm256_unpackhi_epi32(r2, r3);
  return {_mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c), _mm256_unpacklo_epi64(b, d),
          _mm256_unpackhi_epi64(b, d)};
}

DTS_AVX2_INLINE Eight second_pass(const Pairs& pairs) {
  constexpr int one = 1 << kConstBits;
  const __m256i swapped = _mm256_shuffle_epi8(
      pairs.of_04, twice(_mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13)));
  const __m256i sum = weigh(_mm256_add_epi16(pairs.of_04, swapped), one, 0);
  const __m256i gap = weigh(_mm256_sub_epi16(pairs.of_04, swapped), one, 0);
  return butterfly(even_part(sum, gap, pairs.of_26), odd_part(pairs.of_17, pairs.of_53));
}

// Two columns of four rows side by side, without the fraction: that of the upper 16 bits is
// rounded off by a product, as the lower 16 bits don't change the result.
DTS_AVX2_INLINE __m256i two_columns(__m256i a, __m256i b) {
  const __m256i upper = _mm256_blend_epi16(_mm256_srli_epi32(a, 16), b, 0xAA);
  return _mm256_mulhrs_epi16(upper, _mm256_set1_epi16(1 << (15 - (kShift2 - 16))));
}

// Four rows of samples, from the eight columns of each: rows 0 1 in the first, 2 3 in the second.
DTS_AVX2_INLINE Halves to_samples(const Eight& columns) {
  const __m256i by_row = twice(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
  const __m256i left = _mm256_packs_epi16(two_columns(columns.of[0], columns.of[1]),
                                          two_columns(columns.of[2], columns.of[3]));
  const __m256i right = _mm256_packs_epi16(two_columns(columns.of[4], columns.of[5]),
                                           two_columns(columns.of[6], columns.of[7]));
  const __m256i a = _mm256_shuffle_epi8(left, by_row);
  const __m256i b = _mm256_shuffle_epi8(right, by_row);
  return {_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b)};
}

// Rows y and y + 1 of both blocks.
DTS_AVX2_INLINE void store_two_rows(__m256i samples, std::uint8_t* out, std::int64_t stride) {
  const __m256i centred = _mm256_xor_si256(samples, _mm256_set1_epi8(-128));
  const __m256i rows = _mm256_permute4x64_epi64(centred, 0xD8);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(rows));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + stride), _mm256_extracti128_si256(rows, 1));
}

DTS_AVX2_INLINE void store_four_rows(const Eight& columns, std::uint8_t* out, std::int64_t stride) {
  const Halves samples = to_samples(columns);
  store_two_rows(samples.low, out, stride);
  store_two_rows(samples.high, out + 2 * stride, stride);
}

// Whether four times the value leaves 16 bits anywhere. Where there is nothing below such a
// row, libjpeg-turbo's shortcut wraps and its full way saturates: left to the generic loop.
DTS_AVX2_INLINE bool is_extreme(__m256i row) {
  const __m256i back = _mm256_srai_epi16(_mm256_slli_epi16(row, kPass1Bits), kPass1Bits);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi16(back, row)) != -1;
}

// False: not done, the values are extreme.
DTS_AVX2_INLINE bool transform_two(const std::int16_t* block, const std::int16_t* next,
                                   const WideTable& table, std::uint8_t* out, std::int64_t stride) {
  const __m256i in_pairs =
      twice(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 14, 15, 10, 11, 6, 7, 4, 5, 12, 13));
  __m256i rows[8];
#pragma GCC unroll 8
  for (int v = 0; v < 8; ++v) rows[v] = load_row(block, next, table, v);
  if (is_extreme(rows[0])) [[unlikely]]
    return false;
  const Eight low = first_pass<0>(rows);
  const Eight high = first_pass<1>(rows);
#pragma GCC unroll 8
  for (int v = 0; v < 8; ++v) {
    rows[v] = _mm256_shuffle_epi8(without_fraction(low.of[v], high.of[v]), in_pairs);
  }
  store_four_rows(second_pass(turn(rows[0], rows[1], rows[2], rows[3])), out, stride);
  store_four_rows(second_pass(turn(rows[4], rows[5], rows[6], rows[7])), out + 4 * stride, stride);
  return true;
}

// One dimension where inputs 4 to 7 are 0. `pair_02`, `pair_13`: inputs side by side.
DTS_AVX2_INLINE Eight short_pass(__m256i pair_02, __m256i pair_13, __m256i round) {
  constexpr int one = 1 << kConstBits, low = k0_541 + k0_765, high = k0_541;
  const Four even = {{_mm256_add_epi32(weigh(pair_02, one, low), round),
                      _mm256_add_epi32(weigh(pair_02, one, high), round),
                      _mm256_add_epi32(weigh(pair_02, one, -high), round),
                      _mm256_add_epi32(weigh(pair_02, one, -low), round)}};
  const Four odd = {{weigh(pair_13, k1_501 - k0_899 + k1_175 - k0_390, k1_175),
                     weigh(pair_13, k1_175, k3_072 - k2_562 + k1_175 - k1_961),
                     weigh(pair_13, k1_175 - k0_390, k1_175 - k2_562),
                     weigh(pair_13, k1_175 - k0_899, k1_175 - k1_961)}};
  return butterfly(even, odd);
}

// As transform_two() for blocks with nothing but the first four columns of the first four rows.
DTS_AVX2_INLINE bool transform_corners(const std::int16_t* block, const std::int16_t* next,
                                       const WideTable& table, std::uint8_t* out,
                                       std::int64_t stride) {
  const __m256i in_pairs =
      twice(_mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15));
  const __m256i first = load_row(block, next, table, 0);
  if (is_extreme(first)) [[unlikely]]
    return false;
  const Eight rows = short_pass(
      _mm256_unpacklo_epi16(first, load_row(block, next, table, 2)),
      _mm256_unpacklo_epi16(load_row(block, next, table, 1), load_row(block, next, table, 3)),
      _mm256_set1_epi32(1 << (kShift1 - 1)));
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
    const __m256i* const four = rows.of + 4 * half;
    const __m256i a = _mm256_shuffle_epi8(without_fraction(four[0], four[1]), in_pairs);
    const __m256i b = _mm256_shuffle_epi8(without_fraction(four[2], four[3]), in_pairs);
    store_four_rows(short_pass(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b),
                               _mm256_setzero_si256()),
                    out + 4 * half * stride, stride);
  }
  return true;
}

// Both blocks have nothing but DC.
DTS_AVX2_INLINE void fill_two(const std::int16_t* block, const std::int16_t* next,
                              std::uint16_t table, std::uint8_t* out, std::int64_t stride) {
  const __m128i values =
      _mm_set_epi64x(static_cast<std::uint16_t>(*next), static_cast<std::uint16_t>(*block));
  __m128i value = _mm_slli_epi16(_mm_mullo_epi16(values, _mm_set1_epi16(static_cast<short>(table))),
                                 kPass1Bits);
  // The rounding bit apart: added first it could leave 16 bits.
  const __m128i round = _mm_and_si128(_mm_srai_epi16(value, kPass1Bits + 2), _mm_set1_epi16(1));
  value = _mm_add_epi16(_mm_srai_epi16(value, kPass1Bits + 3), round);
  value = _mm_xor_si128(_mm_packs_epi16(value, value), _mm_set1_epi8(-128));
  value = _mm_shuffle_epi8(value, _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 4, 4, 4, 4, 4, 4, 4, 4));
  for (int y = 0; y < 8; ++y, out += stride) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), value);
  }
}

}  // namespace

DTS_AVX2 void idct_row_avx2(const IdctRow& job) {
  WideTable table;
  for (int v = 0; v < 8; ++v) {
    std::memcpy(table.values.data() + 16 * v, job.table + 8 * v, 16);
    std::memcpy(table.values.data() + 16 * v + 8, job.table + 8 * v, 16);
  }
  for (std::int64_t i = 0; i < job.num_blocks; i += 2) {
    // A last block without a neighbour is done twice.
    const std::int64_t next = i + 1 < job.num_blocks ? i + 1 : i;
    const std::int16_t* const block = job.blocks + 64 * i;
    const std::int16_t* const next_block = job.blocks + 64 * next;
    std::uint8_t* const out = job.out + 8 * i;
    const int end = std::max(job.ends[i], job.ends[next]);
    bool is_done = true;
    if (end <= 1) {
      fill_two(block, next_block, job.table[0], out, job.stride);
    } else if (end <= kCornerEnd) {
      is_done = transform_corners(block, next_block, table, out, job.stride);
    } else {
      is_done = transform_two(block, next_block, table, out, job.stride);
    }
    if (!is_done) {
      IdctRow rest = job;
      rest.blocks = block;
      rest.ends = job.ends + i;
      rest.num_blocks = next - i + 1;
      rest.out = out;
      idct_row_generic(rest);
    }
  }
}

}  // namespace dts

#else

namespace dts {
void idct_row_avx2(const IdctRow& job) { idct_row_generic(job); }
}  // namespace dts

#endif
