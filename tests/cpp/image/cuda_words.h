// SPDX-License-Identifier: Apache-2.0
// CUDA's words for what a kernel of csrc/cuda uses, so that the CPU can run it: one thread of
// one block after the other, each block twice (see normalize_kernel.h). Not thread-safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "image/half.h"

#define __device__
#define __global__
#define __shared__ static
#define __grid_constant__
#define __launch_bounds__(threads)
#define DTS_UNROLL

struct uint4 {
  std::uint32_t x, y, z, w;
};
struct CudaPlace {
  unsigned x;
};
inline CudaPlace threadIdx, blockIdx;

struct __half {
  std::uint16_t bits;
};
struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline __half __float2half_rn(float value) { return {dts::float16_bits(value)}; }
inline __nv_bfloat16 __float2bfloat16_rn(float value) { return {dts::bfloat16_bits(value)}; }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline const uint4& __ldg(const uint4* from) { return *from; }
inline void __syncthreads() {}
using std::min;
