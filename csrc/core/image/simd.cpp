// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace dts {
namespace {

SimdLevel of_cpu() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  // These answers include whether the system saves the registers.
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("f16c");
  if (!has_avx2) return SimdLevel::kGeneric;
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512vnni");
  return has_avx512 ? SimdLevel::kAvx512 : SimdLevel::kAvx2;
#else
  return SimdLevel::kGeneric;
#endif
}

// What TORCH_DTS_SIMD allows at most; any other word than a level's name allows all.
SimdLevel allowed() {
  const char* const value = std::getenv("TORCH_DTS_SIMD");
  const std::string_view wanted = value == nullptr ? "" : value;
  if (wanted == "generic") return SimdLevel::kGeneric;
  return wanted == "avx2" ? SimdLevel::kAvx2 : SimdLevel::kAvx512;
}

SimdLevel detect() { return std::min(of_cpu(), allowed()); }

}  // namespace

SimdLevel best_simd_level() {
  static const SimdLevel level = detect();
  return level;
}

const char* simd_level_name(SimdLevel level) {
  switch (level) {
    case SimdLevel::kAvx512:
      return "avx512";
    case SimdLevel::kAvx2:
      return "avx2";
    case SimdLevel::kGeneric:
      break;
  }
  return "generic";
}

void check_simd_level(SimdLevel level) {
  if (level <= best_simd_level()) return;
  throw InvalidArgument(std::string("SIMD level ") + simd_level_name(level) +
                        " was asked for, this CPU has " + simd_level_name(best_simd_level()));
}

}  // namespace dts
