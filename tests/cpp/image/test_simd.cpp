// SPDX-License-Identifier: Apache-2.0
#include "image/simd.h"

#include <doctest/doctest.h>

#include <string>

#include "support.h"

namespace dts {
namespace {

TEST_CASE("simd: levels have names") {
  CHECK(std::string(simd_level_name(SimdLevel::kGeneric)) == "generic");
  CHECK(std::string(simd_level_name(SimdLevel::kAvx2)) == "avx2");
  CHECK(std::string(simd_level_name(SimdLevel::kAvx512)) == "avx512");
}

TEST_CASE("simd: the CPU's own level and less pass, more is an error") {
  const SimdLevel best = best_simd_level();
  for (const SimdLevel level : {SimdLevel::kGeneric, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= best) {
      CHECK_NOTHROW(check_simd_level(level));
    } else {
      testing::check_message<InvalidArgument>([level] { check_simd_level(level); },
                                              std::string("SIMD level ") + simd_level_name(level) +
                                                  " was asked for, this CPU has " +
                                                  simd_level_name(best));
    }
  }
}

}  // namespace
}  // namespace dts
