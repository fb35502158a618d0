// SPDX-License-Identifier: Apache-2.0
// The fused tail's loops for AVX2 with FMA and F16C: values come from the formula of
// convert_kernels.h, which is several times faster than loads from a table.
#include "image/convert_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#define DTS_AVX2 [[gnu::target("avx2,fma,f16c")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2,fma,f16c"), gnu::always_inline]] inline

namespace dts {
namespace {

DTS_AVX2_INLINE __m128i load16(const std::uint8_t* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}
DTS_AVX2_INLINE __m256i load_halves(const std::uint8_t* low, const std::uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(low)), load16(high), 1);
}
DTS_AVX2_INLINE __m256i twice(__m128i half) { return _mm256_broadcastsi128_si256(half); }

// 32 pixels, 96 bytes, to 32 bytes of each channel.
template <bool kFlip>
DTS_AVX2_INLINE void split_block(const std::uint8_t* pixels, std::uint8_t* const* rows,
                                 std::int64_t at) {
  // 16 pixels in each half: bytes 0-15, 16-31 and 32-47 of both.
  const __m256i a = load_halves(pixels, pixels + 48);
  const __m256i b = load_halves(pixels + 16, pixels + 64);
  const __m256i c = load_halves(pixels + 32, pixels + 80);
  const __m256i red = _mm256_or_si256(
      _mm256_or_si256(_mm256_shuffle_epi8(a, twice(_mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1,
                                                                 -1, -1, -1, -1, -1, -1))),
                      _mm256_shuffle_epi8(b, twice(_mm_setr_epi8(-1, -1, -1, -1, -1, -1, 2, 5, 8,
                                                                 11, 14, -1, -1, -1, -1, -1)))),
      _mm256_shuffle_epi8(
          c, twice(_mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13))));
  const __m256i green = _mm256_or_si256(
      _mm256_or_si256(
          _mm256_shuffle_epi8(
              a, twice(_mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1))),
          _mm256_shuffle_epi8(
              b, twice(_mm_setr_epi8(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1)))),
      _mm256_shuffle_epi8(
          c, twice(_mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14))));
  const __m256i blue = _mm256_or_si256(
      _mm256_or_si256(_mm256_shuffle_epi8(a, twice(_mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1,
                                                                 -1, -1, -1, -1, -1, -1, -1))),
                      _mm256_shuffle_epi8(b, twice(_mm_setr_epi8(-1, -1, -1, -1, -1, 1, 4, 7, 10,
                                                                 13, -1, -1, -1, -1, -1, -1)))),
      _mm256_shuffle_epi8(
          c, twice(_mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15))));
  const __m256i channels[3] = {red, green, blue};
#pragma GCC unroll 3
  for (int channel = 0; channel < 3; ++channel) {
    __m256i values = channels[channel];
    if constexpr (kFlip) {
      values = _mm256_shuffle_epi8(
          values, twice(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)));
      values = _mm256_permute4x64_epi64(values, 0x4E);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows[channel] + at), values);
  }
}

template <bool kFlip>
DTS_AVX2 void split(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* const* rows) {
  std::int64_t at = 0;
  for (; at + 32 <= count; at += 32) {
    split_block<kFlip>(pixels + (kFlip ? count - 32 - at : at) * 3, rows, at);
  }
  if (at == count) return;
  std::uint8_t last[96] = {};
  const auto left = static_cast<std::size_t>(count - at);
  // Turned round, the block's last pixel comes first.
  std::memcpy(last + (kFlip ? 96 - left * 3 : 0), pixels + (kFlip ? 0 : at * 3), left * 3);
  split_block<kFlip>(last, rows, at);
}

DTS_AVX2 void split_rgb(const std::uint8_t* pixels, std::int64_t count, bool flip,
                        std::uint8_t* const* rows) {
  flip ? split<true>(pixels, count, rows) : split<false>(pixels, count, rows);
}

DTS_AVX2 void flip_rgb(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) {
  // Five pixels, the first byte of the 16 belonging to the one before.
  const __m128i turn = _mm_setr_epi8(13, 14, 15, 10, 11, 12, 7, 8, 9, 4, 5, 6, 1, 2, 3, -1);
  for (; count > 5; count -= 5, out += 15) {
    const __m128i five = _mm_shuffle_epi8(load16(pixels + (count - 5) * 3 - 1), turn);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), five);
  }
  for (; count > 0; --count, out += 3) std::memcpy(out, pixels + (count - 1) * 3, 3);
}

DTS_AVX2 void flip_gray(const std::uint8_t* pixels, std::int64_t count, std::uint8_t* out) {
  const __m128i turn = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
  for (; count >= 16; count -= 16, out += 16) {
    const __m128i values = _mm_shuffle_epi8(load16(pixels + count - 16), turn);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), values);
  }
  for (; count > 0; --count) *out++ = pixels[count - 1];
}

struct Constants {
  __m256 scale_high, scale_low, mean, factor_high, factor_low;
};

DTS_AVX2_INLINE Constants load_constants(const float* from) {
  return {_mm256_loadu_ps(from + kScaleHigh * kConstantRun),
          _mm256_loadu_ps(from + kScaleLow * kConstantRun),
          _mm256_loadu_ps(from + kMean * kConstantRun),
          _mm256_loadu_ps(from + kFactorHigh * kConstantRun),
          _mm256_loadu_ps(from + kFactorLow * kConstantRun)};
}

DTS_AVX2_INLINE __m256 formula(const std::uint8_t* in, const Constants& c) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
  const __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
  const __m256 t = _mm256_fmadd_ps(x, c.scale_high, _mm256_mul_ps(x, c.scale_low));
  const __m256 u = _mm256_sub_ps(t, c.mean);
  return _mm256_fmadd_ps(u, c.factor_high, _mm256_mul_ps(u, c.factor_low));
}

// How eight values leave: the bytes of one, and all of them as a vector.
struct Float32Out {
  static constexpr std::int64_t kBytes = 4;
  DTS_AVX2_INLINE static __m256i vector(__m256 y) { return _mm256_castps_si256(y); }
};

struct Float16Out {
  static constexpr std::int64_t kBytes = 2;
  DTS_AVX2_INLINE static __m128i vector(__m256 y) {
    return _mm256_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT);
  }
};

struct Bfloat16Out {
  static constexpr std::int64_t kBytes = 2;
  DTS_AVX2_INLINE static __m128i vector(__m256 y) {
    // Half of the last place, or just less where the last bit is even.
    __m256i bits = _mm256_castps_si256(y);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    bits = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
    bits = _mm256_srli_epi32(bits, 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
  }
};

DTS_AVX2_INLINE void store(std::uint8_t* out, __m256i values) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), values);
}
DTS_AVX2_INLINE void store(std::uint8_t* out, __m128i values) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), values);
}
// Past the caches, to a multiple of the vector's size.
DTS_AVX2_INLINE void stream(std::uint8_t* out, __m256i values) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(out), values);
}
DTS_AVX2_INLINE void stream(std::uint8_t* out, __m128i values) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(out), values);
}

// Of kPeriod channels in turn.
template <class Out, int kPeriod, bool kStreams>
DTS_AVX2 void convert_values(const ConvertJob& job) {
  constexpr std::int64_t kBlock = 8 * kPeriod;
  const std::uint8_t* in = job.in;
  std::uint8_t* out = job.out;
  Constants constants[kPeriod];
  for (int k = 0; k < kPeriod; ++k) constants[k] = load_constants(job.constants + k * 8);
  std::int64_t left = job.count;
  for (; left >= kBlock; left -= kBlock, in += kBlock) {
#pragma GCC unroll 3
    for (int k = 0; k < kPeriod; ++k) {
      const auto values = Out::vector(formula(in + k * 8, constants[k]));
      kStreams ? stream(out, values) : store(out, values);
      out += 8 * Out::kBytes;
    }
  }
  if (left == 0) return;
  std::uint8_t last_in[kBlock] = {};
  std::uint8_t last_out[kBlock * Out::kBytes];
  std::memcpy(last_in, in, static_cast<std::size_t>(left));
  for (int k = 0; k < kPeriod; ++k) {
    store(last_out + k * 8 * Out::kBytes, Out::vector(formula(last_in + k * 8, constants[k])));
  }
  std::memcpy(out, last_out, static_cast<std::size_t>(left * Out::kBytes));
}

template <class Out>
DTS_AVX2 void convert(const ConvertJob& job) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(job.out) % (8 * Out::kBytes) == 0;
  if (job.streams && is_aligned) {
    job.period == 1 ? convert_values<Out, 1, true>(job) : convert_values<Out, 3, true>(job);
  } else {
    job.period == 1 ? convert_values<Out, 1, false>(job) : convert_values<Out, 3, false>(job);
  }
}

void end_stream() { _mm_sfence(); }

}  // namespace

const ConvertKernels& convert_kernels_avx2() {
  static constexpr ConvertKernels kernels = {
      .split_rgb = split_rgb,
      .flip_rgb = flip_rgb,
      .flip_gray = flip_gray,
      .to_float32 = convert<Float32Out>,
      .to_float16 = convert<Float16Out>,
      .to_bfloat16 = convert<Bfloat16Out>,
      .end_stream = end_stream,
      .uses_formula = true,
  };
  return kernels;
}

}  // namespace dts

#else

namespace dts {
const ConvertKernels& convert_kernels_avx2() { return convert_kernels_generic(); }
}  // namespace dts

#endif
