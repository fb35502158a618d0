// SPDX-License-Identifier: Apache-2.0
// The colour loops for AVX2, eight pixels or 32 bytes at a time, the rest by the generic
// loops. Products and sums are rounded one by one (no fused multiply-add), so the bytes are
// those of the generic loops.
#include "image/color_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

constexpr std::int64_t kBlock = 8;
// Pixels that must be left for a block: load_pixels reads 28 bytes.
constexpr std::int64_t kBlockReads = 10;

DTS_AVX2_INLINE __m256i twice(__m128i half) { return _mm256_broadcastsi128_si256(half); }

// Eight pixels, four (12 bytes) at the beginning of each half.
DTS_AVX2_INLINE __m256i load_pixels(const std::uint8_t* from) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 12));
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

DTS_AVX2_INLINE __m256i load_8(const std::uint8_t* from) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
}

// The first 24 bytes.
DTS_AVX2_INLINE void store_24(std::uint8_t* to, __m256i bytes) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(bytes));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to + 16), _mm256_extracti128_si256(bytes, 1));
}

// Gray of eight pixels. The weight of green is too large for a signed 16-bit product: half of
// it goes with red, half with blue.
DTS_AVX2_INLINE __m256i gray_of(__m256i pixels) {
  static_assert(kGreenWeight % 2 == 0);
  const __m256i red_green = _mm256_shuffle_epi8(
      pixels, twice(_mm_setr_epi8(0, -1, 1, -1, 3, -1, 4, -1, 6, -1, 7, -1, 9, -1, 10, -1)));
  const __m256i green_blue = _mm256_shuffle_epi8(
      pixels, twice(_mm_setr_epi8(1, -1, 2, -1, 4, -1, 5, -1, 7, -1, 8, -1, 10, -1, 11, -1)));
  const __m256i first =
      _mm256_madd_epi16(red_green, _mm256_set1_epi32(kGreenWeight / 2 << 16 | kRedWeight));
  const __m256i second =
      _mm256_madd_epi16(green_blue, _mm256_set1_epi32(kBlueWeight << 16 | kGreenWeight / 2));
  const __m256i sum =
      _mm256_add_epi32(_mm256_add_epi32(first, second), _mm256_set1_epi32(kWeightRound));
  return _mm256_srli_epi32(sum, 16);
}

// blend_byte for eight values. What is below 0 (down to minus infinity, which becomes the least
// integer) goes to 0 where the integers are packed.
DTS_AVX2_INLINE __m256i blend(__m256i bytes, __m256 base, __m256 alpha) {
  const __m256 distance = _mm256_sub_ps(_mm256_cvtepi32_ps(bytes), base);
  const __m256 value = _mm256_add_ps(base, _mm256_mul_ps(alpha, distance));
  return _mm256_cvttps_epi32(_mm256_min_ps(value, _mm256_set1_ps(255.0F)));
}

DTS_AVX2_INLINE __m256i blend_32(__m256i bytes, __m256 base, __m256 alpha) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i low = _mm256_unpacklo_epi8(bytes, zero);
  const __m256i high = _mm256_unpackhi_epi8(bytes, zero);
  const __m256i a = blend(_mm256_unpacklo_epi16(low, zero), base, alpha);
  const __m256i b = blend(_mm256_unpackhi_epi16(low, zero), base, alpha);
  const __m256i c = blend(_mm256_unpacklo_epi16(high, zero), base, alpha);
  const __m256i d = blend(_mm256_unpackhi_epi16(high, zero), base, alpha);
  return _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
}

DTS_AVX2 void blend_value(std::uint8_t* bytes, std::int64_t count, const ValueBlend& job) {
  const __m256 base = _mm256_set1_ps(job.base);
  const __m256 alpha = _mm256_set1_ps(job.alpha);
  for (; count >= 32; count -= 32, bytes += 32) {
    auto* const here = reinterpret_cast<__m256i*>(bytes);
    _mm256_storeu_si256(here, blend_32(_mm256_loadu_si256(here), base, alpha));
  }
  color_kernels_generic().blend_value(bytes, count, job);
}

DTS_AVX2 void blend_gray(std::uint8_t* pixels, std::int64_t count, float factor) {
  const __m256 alpha = _mm256_set1_ps(factor);
  // The gray of each pixel three times, beside its bytes.
  const __m256i grays_a = _mm256_setr_epi32(0, 0, 0, 1, 1, 1, 2, 2);
  const __m256i grays_b = _mm256_setr_epi32(2, 3, 3, 3, 4, 4, 4, 5);
  const __m256i grays_c = _mm256_setr_epi32(5, 5, 6, 6, 6, 7, 7, 7);
  const __m256i in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  for (; count >= kBlockReads; count -= kBlock, pixels += 3 * kBlock) {
    const __m256 gray = _mm256_cvtepi32_ps(gray_of(load_pixels(pixels)));
    const __m256i a = blend(load_8(pixels), _mm256_permutevar8x32_ps(gray, grays_a), alpha);
    const __m256i b = blend(load_8(pixels + 8), _mm256_permutevar8x32_ps(gray, grays_b), alpha);
    const __m256i c = blend(load_8(pixels + 16), _mm256_permutevar8x32_ps(gray, grays_c), alpha);
    const __m256i packed = _mm256_packus_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, c));
    store_24(pixels, _mm256_permutevar8x32_epi32(packed, in_order));
  }
  color_kernels_generic().blend_gray(pixels, count, factor);
}

DTS_AVX2 void to_gray(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) {
  for (; count >= kBlockReads; count -= kBlock, pixels += 3 * kBlock, out += kBlock) {
    __m256i gray = gray_of(load_pixels(pixels));
    gray = _mm256_permute4x64_epi64(_mm256_packs_epi32(gray, gray), 0x08);
    const __m128i words = _mm256_castsi256_si128(gray);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(words, words));
  }
  color_kernels_generic().to_gray(pixels, count, out);
}

DTS_AVX2 std::int64_t sum_gray(const std::uint8_t* pixels, std::int64_t count) {
  __m256i sums = _mm256_setzero_si256();
  for (; count >= kBlockReads; count -= kBlock, pixels += 3 * kBlock) {
    const __m256i gray = gray_of(load_pixels(pixels));
    sums = _mm256_add_epi64(sums, _mm256_sad_epu8(gray, _mm256_setzero_si256()));
  }
  const __m128i two =
      _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  return _mm_cvtsi128_si64(two) + _mm_extract_epi64(two, 1) +
         color_kernels_generic().sum_gray(pixels, count);
}

struct Hsv {
  __m256i hue, saturation, value;  // 0..255 in each
};

// hue_of of color_generic.cpp for eight pixels. In each case the two channels below the
// highest are the lowest and the middle one, and only the latter's distance counts:
// hue = a whole number of sixths + or - distance / range.
DTS_AVX2_INLINE Hsv to_hsv(__m256i red, __m256i green, __m256i blue) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i most = _mm256_max_epi32(_mm256_max_epi32(red, green), blue);
  const __m256i least = _mm256_min_epi32(_mm256_min_epi32(red, green), blue);
  const __m256i middle = _mm256_sub_epi32(_mm256_add_epi32(_mm256_add_epi32(red, green), blue),
                                          _mm256_add_epi32(most, least));
  const __m256i range = _mm256_sub_epi32(most, least);
  // Gray divides by 1 and gets saturation 0; its hue does not matter then.
  const __m256 divisor = _mm256_cvtepi32_ps(_mm256_max_epi32(range, one));
  const __m256 part = _mm256_div_ps(_mm256_cvtepi32_ps(_mm256_sub_epi32(most, middle)), divisor);
  const __m256 amount =
      _mm256_div_ps(_mm256_cvtepi32_ps(range), _mm256_cvtepi32_ps(_mm256_max_epi32(most, one)));

  const __m256i is_red = _mm256_cmpeq_epi32(red, most);
  const __m256i is_green = _mm256_andnot_si256(is_red, _mm256_cmpeq_epi32(green, most));
  // The hue grows with the distance where `next` is below `before`: the channels around the
  // circle. At equality both ways give the same.
  const __m256i next = _mm256_blendv_epi8(_mm256_blendv_epi8(red, blue, is_green), green, is_red);
  const __m256i before = _mm256_blendv_epi8(_mm256_blendv_epi8(green, red, is_green), blue, is_red);
  const __m256i shrinks = _mm256_cmpgt_epi32(next, before);
  // -1, 1 or 3 sixths, and 2 more where the distance is taken away.
  __m256i whole = _mm256_set1_epi32(3);
  whole = _mm256_add_epi32(whole, _mm256_slli_epi32(is_green, 1));
  whole = _mm256_add_epi32(whole, _mm256_slli_epi32(is_red, 2));
  whole = _mm256_sub_epi32(whole, _mm256_slli_epi32(shrinks, 1));
  const __m256 sign = _mm256_castsi256_ps(_mm256_slli_epi32(shrinks, 31));
  const __m256 sixths = _mm256_add_ps(_mm256_cvtepi32_ps(whole), _mm256_xor_ps(part, sign));
  const __m256 is_negative = _mm256_cmp_ps(sixths, _mm256_setzero_ps(), _CMP_LT_OQ);
  const __m256 turn = _mm256_add_ps(_mm256_and_ps(is_negative, _mm256_set1_ps(1.0F)),
                                    _mm256_div_ps(sixths, _mm256_set1_ps(6.0F)));
  const __m256 full = _mm256_set1_ps(255.0F);
  return {_mm256_cvttps_epi32(_mm256_mul_ps(turn, full)),
          _mm256_cvttps_epi32(_mm256_mul_ps(amount, full)), most};
}

// Eight pixels, one in each 32 bits: red, green, blue, 0.
DTS_AVX2_INLINE __m256i to_rgb(const Hsv& hsv) {
  const __m256i one = _mm256_set1_epi32(1), byte = _mm256_set1_epi32(255);
  // Sixths of 85 half steps; 255 is the end of the last one.
  const __m256i halves = _mm256_slli_epi32(hsv.hue, 1);
  const __m256i sixth =
      _mm256_min_epi32(_mm256_mulhi_epu16(halves, _mm256_set1_epi32(772)),  // exact up to 510
                       _mm256_set1_epi32(5));
  const __m256i part = _mm256_sub_epi32(halves, _mm256_mullo_epi16(sixth, _mm256_set1_epi32(85)));
  const __m256i is_odd = _mm256_cmpeq_epi32(_mm256_and_si256(sixth, one), one);
  const __m256i fade =
      _mm256_blendv_epi8(_mm256_sub_epi32(_mm256_set1_epi32(85), part), part, is_odd);

  // value * (255 - saturation) / 255 to the nearest.
  __m256i low = _mm256_mullo_epi16(hsv.value, _mm256_sub_epi32(byte, hsv.saturation));
  low = _mm256_add_epi32(low, _mm256_set1_epi32(128));
  low = _mm256_srli_epi32(_mm256_add_epi32(low, _mm256_srli_epi32(low, 8)), 8);
  // value * (1 - saturation / 255 * fade / 85) to the nearest, no ties: 255 * 85 is odd.
  const __m256i kept =
      _mm256_sub_epi32(_mm256_set1_epi32(21675), _mm256_mullo_epi16(hsv.saturation, fade));
  const __m256 parts = _mm256_cvtepi32_ps(_mm256_madd_epi16(hsv.value, kept));
  const __m256i middle = _mm256_cvttps_epi32(
      _mm256_add_ps(_mm256_mul_ps(parts, _mm256_set1_ps(1.0F / 21675)), _mm256_set1_ps(0.5F)));

  const __m256i levels = _mm256_or_si256(_mm256_or_si256(hsv.value, _mm256_slli_epi32(middle, 8)),
                                         _mm256_slli_epi32(low, 16));
  // Which of value, middle and low red, green and blue take, for each sixth.
  const __m256i choices =
      _mm256_setr_epi32(static_cast<int>(0x80020100), static_cast<int>(0x80020001),
                        static_cast<int>(0x80010002), static_cast<int>(0x80000102),
                        static_cast<int>(0x80000201), static_cast<int>(0x80010200), 0, 0);
  const __m256i places = twice(_mm_setr_epi32(0x00000000, 0x00040404, 0x00080808, 0x000C0C0C));
  return _mm256_shuffle_epi8(levels,
                             _mm256_add_epi32(_mm256_permutevar8x32_epi32(choices, sixth), places));
}

DTS_AVX2 void shift_hue(std::uint8_t* pixels, std::int64_t count, std::uint8_t shift) {
  const __m256i reds =
      twice(_mm_setr_epi8(0, -1, -1, -1, 3, -1, -1, -1, 6, -1, -1, -1, 9, -1, -1, -1));
  const __m256i greens =
      twice(_mm_setr_epi8(1, -1, -1, -1, 4, -1, -1, -1, 7, -1, -1, -1, 10, -1, -1, -1));
  const __m256i blues =
      twice(_mm_setr_epi8(2, -1, -1, -1, 5, -1, -1, -1, 8, -1, -1, -1, 11, -1, -1, -1));
  const __m256i together =
      twice(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
  const __m256i halves_together = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
  const __m256i added = _mm256_set1_epi32(shift);
  for (; count >= kBlockReads; count -= kBlock, pixels += 3 * kBlock) {
    const __m256i from = load_pixels(pixels);
    Hsv hsv = to_hsv(_mm256_shuffle_epi8(from, reds), _mm256_shuffle_epi8(from, greens),
                     _mm256_shuffle_epi8(from, blues));
    hsv.hue = _mm256_and_si256(_mm256_add_epi32(hsv.hue, added), _mm256_set1_epi32(255));
    const __m256i rgb = _mm256_shuffle_epi8(to_rgb(hsv), together);
    store_24(pixels, _mm256_permutevar8x32_epi32(rgb, halves_together));
  }
  color_kernels_generic().shift_hue(pixels, count, shift);
}

}  // namespace

const ColorKernels& color_kernels_avx2() {
  static constexpr ColorKernels kernels = {
      .blend_value = blend_value,
      .blend_gray = blend_gray,
      .to_gray = to_gray,
      .sum_gray = sum_gray,
      .shift_hue = shift_hue,
  };
  return kernels;
}

}  // namespace dts

#else

namespace dts {
const ColorKernels& color_kernels_avx2() { return color_kernels_generic(); }
}  // namespace dts

#endif
