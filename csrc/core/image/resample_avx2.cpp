// SPDX-License-Identifier: Apache-2.0
// The resize kernels for AVX2, built on vpmaddwd (two products of 16-bit numbers, summed)
// and exact: weights of 23 bits are cut into two digits, w = d0 * 2^8 + d1.
#include "image/resample_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

constexpr int kRows = 4;

DTS_AVX2_INLINE __m128i load16(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
DTS_AVX2_INLINE __m256i load32(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
DTS_AVX2_INLINE __m128i load8(const std::uint8_t* from) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}
DTS_AVX2_INLINE __m256i twice(__m128i half) { return _mm256_broadcastsi128_si256(half); }
DTS_AVX2_INLINE void store32(std::uint8_t* to, __m256i value) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
DTS_AVX2_INLINE void store16(std::uint8_t* to, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
}
// `low` and `high` in the two halves of a register.
DTS_AVX2_INLINE __m256i load_halves(const std::uint8_t* low, const std::uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(low)), load16(high), 1);
}
DTS_AVX2_INLINE __m256i broadcast(std::uint32_t word) {
  return _mm256_set1_epi32(static_cast<int>(word));
}
DTS_AVX2_INLINE __m256i half() { return _mm256_set1_epi32(1 << (kWeightBits - 1)); }

// Two vectors of 32-bit sums to one of pairs of 16-bit numbers in 0..255, `even` low.
DTS_AVX2_INLINE __m256i to_pairs(__m256i even, __m256i odd) {
  // The shift by 16 less leaves the odd result in the high half.
  const __m256i mixed = _mm256_blend_epi16(_mm256_srai_epi32(even, kWeightBits),
                                           _mm256_srai_epi32(odd, kWeightBits - 16), 0xAA);
  return _mm256_min_epi16(_mm256_max_epi16(mixed, _mm256_setzero_si256()), _mm256_set1_epi16(255));
}

// The horizontal pass first spreads each byte p to 32 bits, (p - 128) * 2^8 and p as
// 16-bit numbers: vpmaddwd with (d0, d1) gives p * w - 2^15 * d0, a whole tap in one
// lane. What the second terms sum up to is known for each output and part of its bias.
DTS_AVX2_INLINE __m256i spread(__m256i bytes, __m256i pick) {
  return _mm256_xor_si256(_mm256_shuffle_epi8(bytes, pick), _mm256_set1_epi32(0x8000));
}

// Four pixels of four rows (16 bytes are read of each), 64 bytes a pixel: rows 0, 2, 1
// and 3, each r g b and nothing.
DTS_AVX2_INLINE void spread_pixels(const std::uint8_t* row0, const std::uint8_t* row1,
                                   const std::uint8_t* row2, const std::uint8_t* row3,
                                   std::uint8_t* out) {
  const __m256i even = load_halves(row0, row2);
  const __m256i odd = load_halves(row1, row3);
  const __m256i picks[4] = {
      twice(_mm_setr_epi8(-1, 0, 0, -1, -1, 1, 1, -1, -1, 2, 2, -1, -1, -1, -1, -1)),
      twice(_mm_setr_epi8(-1, 3, 3, -1, -1, 4, 4, -1, -1, 5, 5, -1, -1, -1, -1, -1)),
      twice(_mm_setr_epi8(-1, 6, 6, -1, -1, 7, 7, -1, -1, 8, 8, -1, -1, -1, -1, -1)),
      twice(_mm_setr_epi8(-1, 9, 9, -1, -1, 10, 10, -1, -1, 11, 11, -1, -1, -1, -1, -1))};
#pragma GCC unroll 4
  for (int pixel = 0; pixel < 4; ++pixel) {
    store32(out + pixel * 64, spread(even, picks[pixel]));
    store32(out + pixel * 64 + 32, spread(odd, picks[pixel]));
  }
}

// Pixels [begin, end) of the rows.
DTS_AVX2 void spread_rows(const std::uint8_t* const* rows, std::int64_t begin, std::int64_t end,
                          std::uint8_t* out) {
  const std::uint8_t* const row0 = rows[0];
  const std::uint8_t* const row1 = rows[1];
  const std::uint8_t* const row2 = rows[2];
  const std::uint8_t* const row3 = rows[3];
  std::int64_t i = begin * 3;
  for (; i + 16 <= end * 3; i += 12, out += 256) {
    spread_pixels(row0 + i, row1 + i, row2 + i, row3 + i, out);
  }
  // At most five pixels are left.
  std::uint8_t ends[kRows][32];
  for (int row = 0; row < kRows; ++row) {
    store32(ends[row], _mm256_setzero_si256());
    std::memcpy(ends[row], rows[row] + i, static_cast<std::size_t>(end * 3 - i));
  }
  spread_pixels(ends[0], ends[1], ends[2], ends[3], out);
  spread_pixels(ends[0] + 12, ends[1] + 12, ends[2] + 12, ends[3] + 12, out + 256);
}

// Outputs [begin, end) from pixels spread from `origin` on. kTaps 0: `num_taps`.
template <int kTaps>
DTS_AVX2 void horizontal_rgb_taps(const HorizontalJob& job, std::int64_t begin, std::int64_t end,
                                  std::int64_t origin, std::int64_t num_taps) {
  if constexpr (kTaps > 0) num_taps = kTaps;
  // Stores of bytes could change anything, so all that the loop needs is read before it.
  const std::uint8_t* const pixels = job.scratch;
  std::uint8_t* plane01 = job.planes[0] + begin * 12;
  std::uint8_t* plane23 = job.planes[1] + begin * 12;
  const std::uint32_t* words = job.axis->words.data() + begin * job.axis->stride;
  const std::int32_t* first = job.axis->first.data() + begin;
  const std::int32_t* const last = job.axis->first.data() + end;
  for (; first < last; ++first) {
    const std::uint8_t* from = pixels + (*first - origin) * 64;
    __m256i even = broadcast(*words);
    __m256i odd = even;
    ++words;
#pragma GCC unroll 8
    for (std::int64_t t = 0; t < num_taps; ++t) {
      const __m256i weight = broadcast(words[t]);
      even = _mm256_add_epi32(even, _mm256_madd_epi16(weight, load32(from + t * 64)));
      odd = _mm256_add_epi32(odd, _mm256_madd_epi16(weight, load32(from + t * 64 + 32)));
    }
    words += num_taps;
    // 12 of 16 bytes count; the next output covers the rest.
    const __m256i pairs = to_pairs(even, odd);
    store16(plane01, _mm256_castsi256_si128(pairs));
    store16(plane23, _mm256_extracti128_si256(pairs, 1));
    plane01 += 12;
    plane23 += 12;
  }
}

using HorizontalTaps = void (*)(const HorizontalJob&, std::int64_t, std::int64_t, std::int64_t,
                                std::int64_t);
constexpr HorizontalTaps kHorizontalTaps[] = {
    horizontal_rgb_taps<0>, horizontal_rgb_taps<1>, horizontal_rgb_taps<2>, horizontal_rgb_taps<3>,
    horizontal_rgb_taps<4>, horizontal_rgb_taps<5>, horizontal_rgb_taps<6>};

void horizontal_rgb(const HorizontalJob& job) {
  const std::int64_t num_taps = job.axis->max_units;
  const HorizontalTaps resize = kHorizontalTaps[num_taps < 7 ? num_taps : 0];
  const std::int32_t* const first = job.axis->first.data();
  const auto num_outputs = static_cast<std::int64_t>(job.axis->first.size());
  for (std::int64_t begin = 0; begin < num_outputs;) {
    const std::int64_t origin = first[begin];
    // As many outputs as a run of pixels is enough for.
    const std::int64_t last_first = origin + horizontal_run(num_taps) - num_taps;
    const std::int64_t end =
        std::upper_bound(first + begin, first + num_outputs, last_first) - first;
    spread_rows(job.rows, origin, std::min(first[end - 1] + num_taps, job.width), job.scratch);
    resize(job, begin, end, origin, num_taps);
    begin = end;
  }
}

// Gray: the four rows' values of a pixel side by side, 16 bytes a pixel.
DTS_AVX2 void spread_gray_rows(const std::uint8_t* const* rows, std::int64_t width,
                               std::uint8_t* out) {
  const __m256i pick = _mm256_setr_epi8(-1, 0, 0, -1, -1, 1, 1, -1, -1, 2, 2, -1, -1, 3, 3, -1,  //
                                        -1, 4, 4, -1, -1, 5, 5, -1, -1, 6, 6, -1, -1, 7, 7, -1);
  std::int64_t x = 0;
  for (; x + 8 <= width; x += 8, out += 128) {
    const __m128i rows01 = _mm_unpacklo_epi8(load8(rows[0] + x), load8(rows[1] + x));
    const __m128i rows23 = _mm_unpacklo_epi8(load8(rows[2] + x), load8(rows[3] + x));
    const __m128i low = _mm_unpacklo_epi16(rows01, rows23);
    const __m128i high = _mm_unpackhi_epi16(rows01, rows23);
    store32(out, spread(_mm256_broadcastq_epi64(low), pick));
    store32(out + 32, spread(_mm256_broadcastq_epi64(_mm_srli_si128(low, 8)), pick));
    store32(out + 64, spread(_mm256_broadcastq_epi64(high), pick));
    store32(out + 96, spread(_mm256_broadcastq_epi64(_mm_srli_si128(high, 8)), pick));
  }
  for (; x < width; ++x, out += 16) {
    const int four = rows[0][x] | rows[1][x] << 8 | rows[2][x] << 16 | rows[3][x] << 24;
    store16(out, _mm256_castsi256_si128(spread(_mm256_set1_epi32(four), pick)));
  }
}

DTS_AVX2 void horizontal_gray(const HorizontalJob& job) {
  spread_gray_rows(job.rows, job.width, job.scratch);
  const PackedAxis& axis = *job.axis;
  for (std::size_t x = 0; x < axis.first.size(); ++x) {
    const std::uint8_t* from = job.scratch + axis.first[x] * std::int64_t{16};
    const std::uint32_t* words = axis.words.data() + x * static_cast<std::size_t>(axis.stride);
    __m128i sum = _mm_set1_epi32(static_cast<int>(words[0]));
    for (std::int32_t t = 0; t < axis.num_units[x]; ++t) {
      const __m128i weight = _mm_set1_epi32(static_cast<int>(words[t + 1]));
      sum = _mm_add_epi32(sum, _mm_madd_epi16(weight, load16(from + t * 16)));
    }
    __m128i values = _mm_srai_epi32(sum, kWeightBits);
    values = _mm_packs_epi32(values, values);
    values = _mm_min_epi16(_mm_max_epi16(values, _mm_setzero_si128()), _mm_set1_epi16(255));
    const auto rows01 = static_cast<std::uint32_t>(_mm_extract_epi32(values, 0));
    const auto rows23 = static_cast<std::uint32_t>(_mm_extract_epi32(values, 1));
    std::memcpy(job.planes[0] + x * 4, &rows01, 4);
    std::memcpy(job.planes[1] + x * 4, &rows23, 4);
  }
}

// 32 values at a time; kUnits 0: `num_units`.
template <int kUnits>
DTS_AVX2 void vertical_units(const std::uint8_t* const* planes, const std::uint32_t* words,
                             std::int64_t num_units, std::int64_t num_values, std::uint8_t* out) {
  if constexpr (kUnits > 0) num_units = kUnits;
  // packs works on halves of registers; this puts 4 bytes each back in order.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (std::int64_t i = 0; i < num_values; i += 32) {
    __m256i high_sum[4], low_sum[4];
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      high_sum[part] = _mm256_setzero_si256();
      low_sum[part] = half();
    }
#pragma GCC unroll 4
    for (std::int64_t u = 0; u < num_units; ++u) {
      const __m256i high = broadcast(words[u * 2]);
      const __m256i low = broadcast(words[u * 2 + 1]);
      const std::uint8_t* from = planes[u] + i * 4;
#pragma GCC unroll 4
      for (int part = 0; part < 4; ++part) {
        const __m256i pairs = load32(from + part * 32);
        high_sum[part] = _mm256_add_epi32(high_sum[part], _mm256_madd_epi16(pairs, high));
        low_sum[part] = _mm256_add_epi32(low_sum[part], _mm256_madd_epi16(pairs, low));
      }
    }
#pragma GCC unroll 4
    for (int part = 0; part < 4; ++part) {
      low_sum[part] = _mm256_add_epi32(_mm256_slli_epi32(high_sum[part], 8), low_sum[part]);
      low_sum[part] = _mm256_srai_epi32(low_sum[part], kWeightBits);
    }
    const __m256i bytes =
        _mm256_permutevar8x32_epi32(_mm256_packus_epi16(_mm256_packs_epi32(low_sum[0], low_sum[1]),
                                                        _mm256_packs_epi32(low_sum[2], low_sum[3])),
                                    order);
    if (i + 32 <= num_values) {
      store32(out + i, bytes);
    } else {
      alignas(32) std::uint8_t last[32];
      _mm256_store_si256(reinterpret_cast<__m256i*>(last), bytes);
      std::memcpy(out + i, last, static_cast<std::size_t>(num_values - i));
    }
  }
}

DTS_AVX2 void vertical(const std::uint8_t* const* planes, const std::uint32_t* words,
                       std::int64_t num_units, std::int64_t num_values, std::uint8_t* out) {
  switch (num_units) {
    case 1:
      return vertical_units<1>(planes, words, num_units, num_values, out);
    case 2:
      return vertical_units<2>(planes, words, num_units, num_values, out);
    case 3:
      return vertical_units<3>(planes, words, num_units, num_values, out);
    default:
      return vertical_units<0>(planes, words, num_units, num_values, out);
  }
}

DTS_AVX2 void interleave(const std::uint8_t* const* rows, std::int64_t num_values,
                         std::uint8_t* const* planes) {
  for (int plane = 0; plane < kRows / 2; ++plane) {
    const std::uint8_t* const even = rows[plane * 2];
    const std::uint8_t* const odd = rows[plane * 2 + 1];
    std::uint8_t* out = planes[plane];
    std::int64_t i = 0;
    for (; i + 16 <= num_values; i += 16, out += 64) {
      const __m128i a = load16(even + i), b = load16(odd + i);
      const __m256i low = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b));
      const __m256i high = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b));
      store32(out, low);
      store32(out + 32, high);
    }
    for (; i < num_values; ++i, out += 4) {
      const std::uint32_t pair = even[i] | std::uint32_t{odd[i]} << 16;
      std::memcpy(out, &pair, 4);
    }
  }
}

DTS_AVX2 void deinterleave(const std::uint8_t* const* planes, std::int64_t num_values,
                           std::uint8_t* const* rows) {
  // By halves of registers: the even row's 4 bytes, then the odd row's.
  const __m256i split = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 4, 8, 12, 2, 6, 10, 14, -1, -1, -1, -1, -1, -1, -1, -1));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 3, 6, 7);
  for (int plane = 0; plane < kRows / 2; ++plane) {
    const std::uint8_t* from = planes[plane];
    std::uint8_t* const even = rows[plane * 2];
    std::uint8_t* const odd = rows[plane * 2 + 1];
    std::int64_t i = 0;
    for (; i + 8 <= num_values; i += 8, from += 32) {
      const __m256i bytes =
          _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(load32(from), split), order);
      const __m128i both = _mm256_castsi256_si128(bytes);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(even + i), both);
      _mm_storel_epi64(reinterpret_cast<__m128i*>(odd + i), _mm_unpackhi_epi64(both, both));
    }
    for (; i < num_values; ++i, from += 4) {
      even[i] = from[0];
      odd[i] = from[2];
    }
  }
}

}  // namespace

const ResampleKernels& resample_kernels_avx2() {
  static constexpr ResampleKernels kernels = {
      .column_layout = WeightLayout::kSplit,
      .row_layout = WeightLayout::kPairs,
      .rows_per_group = kRows,
      .value_bytes = 4,
      .value_block = 32,
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
const ResampleKernels& resample_kernels_avx2() { return resample_kernels_generic(); }
}  // namespace dts

#endif
