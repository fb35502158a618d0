// SPDX-License-Identifier: Apache-2.0
// Which vector instructions the image kernels use. Decided once from the CPU; all levels
// give the same bytes. Thread-safe.
#pragma once

namespace dts {

// kAvx2 includes FMA and F16C; kAvx512 includes BW, VL and VNNI (a CPU with AVX-512 but
// without VNNI runs the AVX2 kernels). Anything that is not x86-64 is kGeneric.
enum class SimdLevel { kGeneric, kAvx2, kAvx512 };

// The CPU's level; less where TORCH_DTS_SIMD (generic, avx2, avx512) in the environment says so, as
// it was when this was first called.
SimdLevel best_simd_level();
// "generic", "avx2" or "avx512".
const char* simd_level_name(SimdLevel level);
// InvalidArgument if this CPU lacks the level's instructions.
void check_simd_level(SimdLevel level);

}  // namespace dts
