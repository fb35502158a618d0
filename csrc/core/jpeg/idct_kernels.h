// SPDX-License-Identifier: Apache-2.0
// From quantized coefficients to samples: dequantisation and the exact ("slow") inverse cosine
// transform of a row of blocks, one loop for each SIMD level. All give the bytes that
// libjpeg-turbo's vector code for x86-64 gives, also for coefficients far beyond those of a
// picture: it computes products of coefficients and table, and what passes between the two
// passes, in 16 bits.
// No state, no allocation; reads and writes only what the job names.
#pragma once

#include <cstdint>

#include "image/simd.h"

namespace dts {

struct IdctRow {
  // `num_blocks` blocks as in coefficients.h, and their ends.
  const std::int16_t* blocks = nullptr;
  const std::uint8_t* ends = nullptr;
  std::int64_t num_blocks = 0;
  const std::uint16_t* table = nullptr;  // [64], row by row
  // Eight rows of 8 * num_blocks samples, `stride` bytes apart. Loops may write 8 bytes more.
  std::uint8_t* out = nullptr;
  std::int64_t stride = 0;
};

inline constexpr std::int64_t kIdctSlack = 8;

using IdctKernel = void (*)(const IdctRow&);

void idct_row_generic(const IdctRow& job);
void idct_row_avx2(const IdctRow& job);  // the generic one off x86-64

inline IdctKernel idct_kernel(SimdLevel level) {
  return level == SimdLevel::kGeneric ? idct_row_generic : idct_row_avx2;
}

// Constants of the transform, 13 bits behind the point.
namespace idct {
inline constexpr int kConstBits = 13;
inline constexpr int kPass1Bits = 2;  // kept behind the point between the passes
inline constexpr int kShift1 = kConstBits - kPass1Bits;
inline constexpr int kShift2 = kConstBits + kPass1Bits + 3;
inline constexpr int k0_298 = 2446, k0_390 = 3196, k0_541 = 4433, k0_765 = 6270, k0_899 = 7373,
                     k1_175 = 9633, k1_501 = 12299, k1_847 = 15137, k1_961 = 16069, k2_053 = 16819,
                     k2_562 = 20995, k3_072 = 25172;
}  // namespace idct

}  // namespace dts
