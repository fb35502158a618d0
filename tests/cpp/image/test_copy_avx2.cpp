// SPDX-License-Identifier: Apache-2.0
#include "image/copy_checks.h"
#include "image/copy_kernels.h"
#include "image/simd.h"

TEST_CASE("copying past the caches, AVX2") {
  if (dts::best_simd_level() == dts::SimdLevel::kGeneric) return;
  dts::testing::check_copies({0, 1, 31, 32, 127, 128, 129, 4096, 10'001},
                             [](dts::ConstByteSpan from, std::byte* to) {
                               dts::copy_past_caches_avx2(from.data(), from.size(), to);
                             });
}
