// SPDX-License-Identifier: Apache-2.0
// The fused tail's loops for AVX-512: the formula of convert_kernels.h, 16 values at a
// time. Taking pixels apart is left to the AVX2 set.
#include "image/convert_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

// GCC 12 takes its own headers' undefined registers for ours.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

#include <cstring>

#define DTS_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl")]]
#define DTS_AVX512_INLINE [[gnu::target("avx512f,avx512bw,avx512vl"), gnu::always_inline]] inline

namespace dts {
namespace {

struct Constants {
  __m512 scale_high, scale_low, mean, factor_high, factor_low;
};

DTS_AVX512_INLINE Constants load_constants(const float* from) {
  return {_mm512_loadu_ps(from + kScaleHigh * kConstantRun),
          _mm512_loadu_ps(from + kScaleLow * kConstantRun),
          _mm512_loadu_ps(from + kMean * kConstantRun),
          _mm512_loadu_ps(from + kFactorHigh * kConstantRun),
          _mm512_loadu_ps(from + kFactorLow * kConstantRun)};
}

DTS_AVX512_INLINE __m512 formula(__m128i bytes, const Constants& c) {
  const __m512 x = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
  const __m512 t = _mm512_fmadd_ps(x, c.scale_high, _mm512_mul_ps(x, c.scale_low));
  const __m512 u = _mm512_sub_ps(t, c.mean);
  return _mm512_fmadd_ps(u, c.factor_high, _mm512_mul_ps(u, c.factor_low));
}

// How sixteen values leave: the bytes of one, a store of those in the mask, and one of all past the
// caches.
struct Float32Out {
  static constexpr std::int64_t kBytes = 4;
  DTS_AVX512_INLINE static void store(std::uint8_t* out, __mmask16 mask, __m512 y) {
    _mm512_mask_storeu_ps(out, mask, y);
  }
  DTS_AVX512_INLINE static void stream(std::uint8_t* out, __m512 y) {
    _mm512_stream_ps(reinterpret_cast<float*>(out), y);
  }
};

// Of 16 bits each.
template <class Rounding>
struct HalfOut {
  static constexpr std::int64_t kBytes = 2;
  DTS_AVX512_INLINE static void store(std::uint8_t* out, __mmask16 mask, __m512 y) {
    _mm256_mask_storeu_epi16(out, mask, Rounding::rounded(y));
  }
  DTS_AVX512_INLINE static void stream(std::uint8_t* out, __m512 y) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(out), Rounding::rounded(y));
  }
};

struct ToFloat16 {
  DTS_AVX512_INLINE static __m256i rounded(__m512 y) {
    return _mm512_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT);
  }
};

struct ToBfloat16 {
  DTS_AVX512_INLINE static __m256i rounded(__m512 y) {
    // Half of the last place, or just less where the last bit is even.
    __m512i bits = _mm512_castps_si512(y);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
    bits = _mm512_srli_epi32(bits, 16);
    return _mm512_cvtepi32_epi16(bits);
  }
};

// Of kPeriod channels in turn.
template <class Out, int kPeriod, bool kStreams>
DTS_AVX512 void convert_values(const ConvertJob& job) {
  constexpr std::int64_t kBlock = 16 * kPeriod;
  const std::uint8_t* in = job.in;
  std::uint8_t* out = job.out;
  Constants constants[kPeriod];
  for (int k = 0; k < kPeriod; ++k) constants[k] = load_constants(job.constants + k * 16);
  std::int64_t left = job.count;
  for (; left >= kBlock; left -= kBlock, in += kBlock) {
#pragma GCC unroll 3
    for (int k = 0; k < kPeriod; ++k) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + k * 16));
      const __m512 values = formula(bytes, constants[k]);
      kStreams ? Out::stream(out, values) : Out::store(out, 0xFFFF, values);
      out += 16 * Out::kBytes;
    }
  }
  for (int k = 0; left > 0; ++k, left -= 16, in += 16, out += 16 * Out::kBytes) {
    const auto mask = static_cast<__mmask16>(left >= 16 ? 0xFFFF : (1u << left) - 1);
    Out::store(out, mask, formula(_mm_maskz_loadu_epi8(mask, in), constants[k]));
  }
}

template <class Out>
DTS_AVX512 void convert(const ConvertJob& job) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(job.out) % (16 * Out::kBytes) == 0;
  if (job.streams && is_aligned) {
    job.period == 1 ? convert_values<Out, 1, true>(job) : convert_values<Out, 3, true>(job);
  } else {
    job.period == 1 ? convert_values<Out, 1, false>(job) : convert_values<Out, 3, false>(job);
  }
}

}  // namespace

const ConvertKernels& convert_kernels_avx512() {
  static const ConvertKernels kernels = [] {
    ConvertKernels set = convert_kernels_avx2();
    set.to_float32 = convert<Float32Out>;
    set.to_float16 = convert<HalfOut<ToFloat16>>;
    set.to_bfloat16 = convert<HalfOut<ToBfloat16>>;
    return set;
  }();
  return kernels;
}

}  // namespace dts

#else

namespace dts {
const ConvertKernels& convert_kernels_avx512() { return convert_kernels_generic(); }
}  // namespace dts

#endif
