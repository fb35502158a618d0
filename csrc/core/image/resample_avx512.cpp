// SPDX-License-Identifier: Apache-2.0
// The resize kernels for AVX-512 with VNNI, built on vpdpbusd (four products of an
// unsigned and a signed byte, summed) and exact: weights of 23 bits are cut into three
// digits, w = d0 * 2^16 + d1 * 2^8 + d2.
#include "image/resample_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

// GCC 12 takes its own headers' undefined registers for ours.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <algorithm>
#include <cstring>

#define DTS_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]]
#define DTS_AVX512_INLINE \
  [[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni"), gnu::always_inline]] inline

namespace dts {
namespace {

constexpr int kRows = 4;

DTS_AVX512_INLINE __m128i load16(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
DTS_AVX512_INLINE void store16(std::uint8_t* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}
DTS_AVX512_INLINE __m512i broadcast(std::uint32_t word) {
  return _mm512_set1_epi32(static_cast<int>(word));
}

// The sums of one digit each, to whole sums.
struct DigitSums {
  __m512i high, middle, low;
};

DTS_AVX512_INLINE DigitSums start_sums() {
  return {_mm512_setzero_si512(), _mm512_setzero_si512(),
          _mm512_set1_epi32(1 << (kWeightBits - 1))};
}
DTS_AVX512_INLINE void add_unit(__m512i pixels, const std::uint32_t* words, DigitSums* sums) {
  sums->high = _mm512_dpbusd_epi32(sums->high, pixels, broadcast(words[0]));
  sums->middle = _mm512_dpbusd_epi32(sums->middle, pixels, broadcast(words[1]));
  sums->low = _mm512_dpbusd_epi32(sums->low, pixels, broadcast(words[2]));
}
DTS_AVX512_INLINE __m512i join_sums(const DigitSums& sums) {
  const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(sums.high, 8), sums.middle);
  const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(upper, 8), sums.low);
  return _mm512_srai_epi32(sum, kWeightBits);
}

// 16 bytes from `offset` of a row of `num_bytes`, zeros beyond its end if kAtEnd.
template <bool kAtEnd>
DTS_AVX512_INLINE __m128i load_pixels(const std::uint8_t* row, std::int64_t offset,
                                      std::int64_t num_bytes) {
  if constexpr (!kAtEnd) return load16(row + offset);
  if (offset >= num_bytes) return _mm_setzero_si128();
  const std::int64_t count = std::min<std::int64_t>(num_bytes - offset, 16);
  const auto mask = static_cast<__mmask16>((1u << count) - 1);
  return _mm_maskz_loadu_epi8(mask, row + offset);
}

// Outputs [begin, end): one output of four rows, a row in each quarter of a register.
template <bool kAtEnd>
DTS_AVX512 void horizontal_rgb_part(const HorizontalJob& job, std::int64_t begin,
                                    std::int64_t end) {
  // Four pixels to r r r r g g g g b b b b.
  const __m512i pick =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11, -1, -1, -1, -1));
  // Four rows' bytes r g b and nothing, to the rows of r, g and b.
  const __m128i turn = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  // Stores of bytes could change anything, so all that the loop needs is read before it.
  const std::int64_t num_units = job.axis->max_units;
  const std::int64_t num_bytes = job.width * 3;
  const std::uint8_t* const row0 = job.rows[0];
  const std::uint8_t* const row1 = job.rows[1];
  const std::uint8_t* const row2 = job.rows[2];
  const std::uint8_t* const row3 = job.rows[3];
  const std::int32_t* const first = job.axis->first.data();
  const std::uint32_t* words = job.axis->words.data() + begin * num_units * 3;
  std::uint8_t* out = job.planes[0] + begin * 12;
  for (std::int64_t x = begin; x < end; ++x, out += 12) {
    std::int64_t offset = first[x] * std::int64_t{3};
    DigitSums sums = start_sums();
    for (std::int64_t u = 0; u < num_units; ++u, words += 3, offset += 12) {
      __m512i pixels = _mm512_castsi128_si512(load_pixels<kAtEnd>(row0, offset, num_bytes));
      pixels = _mm512_inserti32x4(pixels, load_pixels<kAtEnd>(row1, offset, num_bytes), 1);
      pixels = _mm512_inserti32x4(pixels, load_pixels<kAtEnd>(row2, offset, num_bytes), 2);
      pixels = _mm512_inserti32x4(pixels, load_pixels<kAtEnd>(row3, offset, num_bytes), 3);
      add_unit(_mm512_shuffle_epi8(pixels, pick), words, &sums);
    }
    // The narrowing saturates unsigned numbers, hence the maximum.
    const __m512i values = _mm512_max_epi32(join_sums(sums), _mm512_setzero_si512());
    // 12 of 16 bytes count; the next output covers the rest.
    store16(out, _mm_shuffle_epi8(_mm512_cvtusepi32_epi8(values), turn));
  }
}

DTS_AVX512 void horizontal_rgb(const HorizontalJob& job) {
  const PackedAxis& axis = *job.axis;
  const auto end = static_cast<std::int64_t>(axis.first.size());
  const std::int64_t load_bytes = (axis.max_units - 1) * 12 + 16;
  std::int64_t safe_end = end;
  while (safe_end > 0 &&
         axis.first[static_cast<std::size_t>(safe_end - 1)] * std::int64_t{3} + load_bytes >
             job.width * 3) {
    --safe_end;
  }
  horizontal_rgb_part<false>(job, 0, safe_end);
  horizontal_rgb_part<true>(job, safe_end, end);
}

// Four rows of bytes, a value's four bytes side by side.
DTS_AVX512 void interleave_rows(const std::uint8_t* const* rows, std::int64_t num_values,
                                std::uint8_t* out) {
  const std::uint8_t* const row0 = rows[0];
  const std::uint8_t* const row1 = rows[1];
  const std::uint8_t* const row2 = rows[2];
  const std::uint8_t* const row3 = rows[3];
  std::int64_t i = 0;
  for (; i + 16 <= num_values; i += 16, out += 64) {
    const __m128i a = load16(row0 + i), b = load16(row1 + i);
    const __m128i c = load16(row2 + i), d = load16(row3 + i);
    const __m128i low_ab = _mm_unpacklo_epi8(a, b), high_ab = _mm_unpackhi_epi8(a, b);
    const __m128i low_cd = _mm_unpacklo_epi8(c, d), high_cd = _mm_unpackhi_epi8(c, d);
    store16(out, _mm_unpacklo_epi16(low_ab, low_cd));
    store16(out + 16, _mm_unpackhi_epi16(low_ab, low_cd));
    store16(out + 32, _mm_unpacklo_epi16(high_ab, high_cd));
    store16(out + 48, _mm_unpackhi_epi16(high_ab, high_cd));
  }
  for (; i < num_values; ++i, out += 4) {
    out[0] = row0[i];
    out[1] = row1[i];
    out[2] = row2[i];
    out[3] = row3[i];
  }
}

DTS_AVX512 void horizontal_gray(const HorizontalJob& job) {
  interleave_rows(job.rows, job.width, job.scratch);
  // Four pixels of four rows: each row's side by side.
  const __m128i pick = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const PackedAxis& axis = *job.axis;
  for (std::size_t x = 0; x < axis.first.size(); ++x) {
    const std::uint8_t* from = job.scratch + axis.first[x] * std::int64_t{4};
    const std::uint32_t* words = axis.words.data() + x * static_cast<std::size_t>(axis.stride);
    DigitSums sums = start_sums();
    for (std::int32_t u = 0; u < axis.num_units[x]; ++u, from += 16, words += 3) {
      add_unit(_mm512_castsi128_si512(_mm_shuffle_epi8(load16(from), pick)), words, &sums);
    }
    const __m512i values = _mm512_max_epi32(join_sums(sums), _mm512_setzero_si512());
    const int four = _mm_cvtsi128_si32(_mm512_cvtusepi32_epi8(values));
    std::memcpy(job.planes[0] + x * 4, &four, 4);
  }
}

DTS_AVX512 void vertical(const std::uint8_t* const* planes, const std::uint32_t* words,
                         std::int64_t num_units, std::int64_t num_values, std::uint8_t* out) {
  // packs works on quarters of registers; this puts 4 bytes each back in order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (std::int64_t i = 0; i < num_values; i += 64) {
    DigitSums sums[4] = {start_sums(), start_sums(), start_sums(), start_sums()};
    for (std::int64_t u = 0; u < num_units; ++u) {
      const std::uint8_t* from = planes[u] + i * 4;
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        add_unit(_mm512_loadu_si512(from + part * 64), words + u * 3, &sums[part]);
      }
    }
    const __m512i low = _mm512_packs_epi32(join_sums(sums[0]), join_sums(sums[1]));
    const __m512i high = _mm512_packs_epi32(join_sums(sums[2]), join_sums(sums[3]));
    const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
    const std::int64_t left = num_values - i;
    const __mmask64 mask = left >= 64 ? ~__mmask64{0} : (__mmask64{1} << left) - 1;
    _mm512_mask_storeu_epi8(out + i, mask, bytes);
  }
}

DTS_AVX512 void interleave(const std::uint8_t* const* rows, std::int64_t num_values,
                           std::uint8_t* const* planes) {
  interleave_rows(rows, num_values, planes[0]);
}

DTS_AVX512 void deinterleave(const std::uint8_t* const* planes, std::int64_t num_values,
                             std::uint8_t* const* rows) {
  const __m512i split =
      _mm512_broadcast_i32x4(_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const std::uint8_t* from = planes[0];
  std::int64_t i = 0;
  for (; i + 16 <= num_values; i += 16, from += 64) {
    const __m512i bytes =
        _mm512_permutexvar_epi32(order, _mm512_shuffle_epi8(_mm512_loadu_si512(from), split));
    store16(rows[0] + i, _mm512_castsi512_si128(bytes));
    store16(rows[1] + i, _mm512_extracti32x4_epi32(bytes, 1));
    store16(rows[2] + i, _mm512_extracti32x4_epi32(bytes, 2));
    store16(rows[3] + i, _mm512_extracti32x4_epi32(bytes, 3));
  }
  for (; i < num_values; ++i, from += 4) {
    for (int row = 0; row < kRows; ++row) rows[row][i] = from[row];
  }
}

}  // namespace

const ResampleKernels& resample_kernels_avx512() {
  static constexpr ResampleKernels kernels = {
      .column_layout = WeightLayout::kQuads,
      .row_layout = WeightLayout::kQuads,
      .rows_per_group = kRows,
      .value_bytes = 4,
      .value_block = 64,
      .horizontal_rgb = horizontal_rgb,
      .horizontal_gray = horizontal_gray,
      .vertical = vertical,
      .interleave = interleave,
      .deinterleave = deinterleave,
  };
  return kernels;
}

}  // namespace dts

#else

namespace dts {
const ResampleKernels& resample_kernels_avx512() { return resample_kernels_generic(); }
}  // namespace dts

#endif
