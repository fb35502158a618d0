// SPDX-License-Identifier: Apache-2.0
// Chroma and colour for AVX2, 32 pixels at a time: 16-bit values of the even pixels in one
// register, of the odd ones in another, which is how chroma of half the width comes about.
#include "jpeg/rgb_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

constexpr std::int64_t kPixels = 32;

struct EvenOdd {
  __m256i even, odd;
};

DTS_AVX2_INLINE __m256i twice(__m128i half) { return _mm256_broadcastsi128_si256(half); }

DTS_AVX2_INLINE __m256i load_32(const std::uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

// 16 samples as 16-bit values.
DTS_AVX2_INLINE __m256i load_16(const std::uint8_t* from) {
  return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}

DTS_AVX2_INLINE __m256i three_times(__m256i value) {
  return _mm256_add_epi16(value, _mm256_add_epi16(value, value));
}

DTS_AVX2_INLINE EvenOdd split(__m256i bytes) {
  return {_mm256_and_si256(bytes, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16(bytes, 8)};
}

// (3 * near + far + round) / 2^shift - 128; 16 bits.
template <int shift>
DTS_AVX2_INLINE __m256i blend(__m256i near_thrice, __m256i far, int round) {
  const __m256i constant = _mm256_set1_epi16(static_cast<short>(round - (128 << shift)));
  return _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(near_thrice, constant), far), shift);
}

// Where chroma of 32 pixels comes from, less 128, for each of the ways it is sampled. `x`: of the
// first pixel.
struct H1V1 {
  DTS_AVX2_INLINE static EvenOdd get(const std::uint8_t* near, const std::uint8_t*, std::int64_t x,
                                     bool) {
    const __m256i center = _mm256_set1_epi16(128);
    const EvenOdd values = split(load_32(near + x));
    return {_mm256_sub_epi16(values.even, center), _mm256_sub_epi16(values.odd, center)};
  }
};

struct H2V1 {
  DTS_AVX2_INLINE static EvenOdd get(const std::uint8_t* near, const std::uint8_t*, std::int64_t x,
                                     bool) {
    near += x / 2;
    const __m256i thrice = three_times(load_16(near));
    return {blend<2>(thrice, load_16(near - 1), 1), blend<2>(thrice, load_16(near + 1), 2)};
  }
};

struct H1V2 {
  DTS_AVX2_INLINE static EvenOdd get(const std::uint8_t* near, const std::uint8_t* far,
                                     std::int64_t x, bool is_lower) {
    const EvenOdd a = split(load_32(near + x));
    const EvenOdd b = split(load_32(far + x));
    const int round = is_lower ? 2 : 1;
    return {blend<2>(three_times(a.even), b.even, round),
            blend<2>(three_times(a.odd), b.odd, round)};
  }
};

// -0.34414 cb - 0.71414 cr, 15 bits behind the point, summed in 32 bits.
DTS_AVX2_INLINE __m256i to_green(__m256i y, __m256i cb, __m256i cr) {
  const __m256i weights = _mm256_set1_epi32(static_cast<int>(0xA497D3F3u));  // -23401, -11277
  const __m256i round = _mm256_set1_epi32(1 << 14);
  const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), weights);
  const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), weights);
  return _mm256_add_epi16(y,
                          _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(low, round), 15),
                                             _mm256_srai_epi32(_mm256_add_epi32(high, round), 15)));
}

// One rounded 16-bit product gives what 1.402 with 16 bits gives, for every cr there is.
DTS_AVX2_INLINE __m256i to_red(__m256i y, __m256i cr) {
  return _mm256_add_epi16(y,
                          _mm256_mulhrs_epi16(_mm256_slli_epi16(cr, 2), _mm256_set1_epi16(11485)));
}

// So for 1.772 and every cb.
DTS_AVX2_INLINE __m256i to_blue(__m256i y, __m256i cb) {
  return _mm256_add_epi16(y,
                          _mm256_mulhrs_epi16(_mm256_add_epi16(cb, cb), _mm256_set1_epi16(29033)));
}

DTS_AVX2_INLINE void store_halves(__m256i bytes, std::uint8_t* out) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(bytes));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 48), _mm256_extracti128_si256(bytes, 1));
}

// 96 bytes from three colours, of each 16 pixels first the even ones, then the odd ones. A
// colour's bytes go to three registers, to places that all differ modulo 16: one shuffle puts
// them there, then each register takes its places from one colour or another.
DTS_AVX2_INLINE void store_pixels(__m256i red, __m256i green, __m256i blue, std::uint8_t* out) {
  const __m256i r = _mm256_shuffle_epi8(
      red, twice(_mm_setr_epi8(0, 13, 3, 8, 6, 11, 1, 14, 4, 9, 7, 12, 2, 15, 5, 10)));
  const __m256i g = _mm256_shuffle_epi8(
      green, twice(_mm_setr_epi8(10, 0, 13, 3, 8, 6, 11, 1, 14, 4, 9, 7, 12, 2, 15, 5)));
  const __m256i b = _mm256_shuffle_epi8(
      blue, twice(_mm_setr_epi8(5, 10, 0, 13, 3, 8, 6, 11, 1, 14, 4, 9, 7, 12, 2, 15)));
  const __m256i at_0 = twice(_mm_setr_epi8(-1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1));
  const __m256i at_1 = twice(_mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0));
  const __m256i at_2 = twice(_mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0));
  store_halves(_mm256_blendv_epi8(_mm256_blendv_epi8(r, g, at_1), b, at_2), out);
  store_halves(_mm256_blendv_epi8(_mm256_blendv_epi8(r, g, at_0), b, at_1), out + 16);
  store_halves(_mm256_blendv_epi8(_mm256_blendv_epi8(r, g, at_2), b, at_0), out + 32);
}

DTS_AVX2_INLINE void write_pixels(const std::uint8_t* luma, const EvenOdd& cb, const EvenOdd& cr,
                                  std::uint8_t* out) {
  const EvenOdd y = split(load_32(luma));
  store_pixels(
      _mm256_packus_epi16(to_red(y.even, cr.even), to_red(y.odd, cr.odd)),
      _mm256_packus_epi16(to_green(y.even, cb.even, cr.even), to_green(y.odd, cb.odd, cr.odd)),
      _mm256_packus_epi16(to_blue(y.even, cb.even), to_blue(y.odd, cb.odd)), out);
}

template <class Chroma>
DTS_AVX2 void convert(const RgbRow& row) {
  for (std::int64_t x = 0; x < row.count; x += kPixels) {
    write_pixels(row.luma + x, Chroma::get(row.cb, row.far_cb, x, row.is_lower),
                 Chroma::get(row.cr, row.far_cr, x, row.is_lower), row.out + 3 * x);
  }
}

struct TwoRows {
  EvenOdd upper, lower;
};

// (3 * a + b + round) / 16 - 128 and the same with a and b exchanged.
DTS_AVX2_INLINE void between(__m256i a, __m256i b, int round, __m256i* upper, __m256i* lower) {
  const __m256i constant = _mm256_set1_epi16(static_cast<short>(round - (128 << 4)));
  const __m256i sum = _mm256_add_epi16(_mm256_add_epi16(a, b), constant);
  *upper = _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_add_epi16(a, a)), 4);
  *lower = _mm256_srai_epi16(_mm256_add_epi16(sum, _mm256_add_epi16(b, b)), 4);
}

// Sums: even pixels, then odd ones.
DTS_AVX2_INLINE TwoRows chroma_of_pair(const std::uint8_t* samples, std::int16_t* sums) {
  auto* const even = reinterpret_cast<__m256i*>(sums);
  auto* const odd = even + 1;
  const __m256i thrice = three_times(load_16(samples));
  const __m256i next_even = _mm256_add_epi16(thrice, load_16(samples - 1));
  const __m256i next_odd = _mm256_add_epi16(thrice, load_16(samples + 1));
  TwoRows rows;
  between(_mm256_load_si256(even), next_even, 8, &rows.upper.even, &rows.lower.even);
  between(_mm256_load_si256(odd), next_odd, 7, &rows.upper.odd, &rows.lower.odd);
  _mm256_store_si256(even, next_even);
  _mm256_store_si256(odd, next_odd);
  return rows;
}

DTS_AVX2 void h2v2(const RgbRowPair& rows) {
  for (std::int64_t x = 0; x < rows.count; x += kPixels) {
    const TwoRows cb = chroma_of_pair(rows.cb + x / 2, rows.cb_sums + x);
    const TwoRows cr = chroma_of_pair(rows.cr + x / 2, rows.cr_sums + x);
    write_pixels(rows.luma[0] + x, cb.upper, cr.upper, rows.out[0] + 3 * x);
    write_pixels(rows.luma[1] + x, cb.lower, cr.lower, rows.out[1] + 3 * x);
  }
}

DTS_AVX2 void gray(const RgbRow& row) {
  for (std::int64_t x = 0; x < row.count; x += kPixels) {
    const __m256i y = load_32(row.luma + x);
    std::uint8_t* const out = row.out + 3 * x;
    store_halves(_mm256_shuffle_epi8(
                     y, twice(_mm_setr_epi8(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5))),
                 out);
    store_halves(_mm256_shuffle_epi8(
                     y, twice(_mm_setr_epi8(5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10))),
                 out + 16);
    store_halves(_mm256_shuffle_epi8(y, twice(_mm_setr_epi8(10, 11, 11, 11, 12, 12, 12, 13, 13, 13,
                                                            14, 14, 14, 15, 15, 15))),
                 out + 32);
  }
}

}  // namespace

const RgbKernels& rgb_kernels_avx2() {
  static constexpr RgbKernels kernels = {.gray = gray,
                                         .h1v1 = convert<H1V1>,
                                         .h2v1 = convert<H2V1>,
                                         .h1v2 = convert<H1V2>,
                                         .h2v2 = h2v2};
  return kernels;
}

}  // namespace dts

#else

namespace dts {
const RgbKernels& rgb_kernels_avx2() { return rgb_kernels_generic(); }
}  // namespace dts

#endif
