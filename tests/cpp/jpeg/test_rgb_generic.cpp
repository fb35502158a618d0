// SPDX-License-Identifier: Apache-2.0
#include "jpeg/rgb_checks.h"

using dts::testing::converted;
using dts::testing::SampleRows;
using Bytes8 = std::vector<std::uint8_t>;

namespace {

// Rows of the samples given, the first of them before the first pixel.
SampleRows rows_of(const std::array<Bytes8, 5>& values) {
  std::uint64_t state = 1;
  SampleRows samples(state, 8);
  for (std::size_t i = 0; i < 5; ++i) {
    std::copy(values[i].begin(), values[i].end(), samples.rows[i].begin());
  }
  return samples;
}

const dts::RgbKernels& plain() { return dts::rgb_kernels_generic(); }

}  // namespace

TEST_CASE("samples to RGB: known colours, plain loops") {
  // White, red, green, blue, a dark gray.
  const SampleRows samples = rows_of({Bytes8{0, 255, 76, 150, 29, 50},
                                      {0, 128, 85, 44, 255, 128},
                                      {0, 128, 255, 21, 107, 128},
                                      {},
                                      {}});
  CHECK(converted(plain().h1v1, samples, 5, false) ==
        Bytes8{255, 255, 255, 254, 0, 0, 0, 255, 1, 0, 0, 254, 50, 50, 50});
  CHECK(converted(plain().gray, samples, 3, false) ==
        Bytes8{255, 255, 255, 76, 76, 76, 150, 150, 150});
}

// With cr at its middle and luma 100, blue tells cb.
TEST_CASE("samples to RGB: smooth chroma, plain loops") {
  const Bytes8 luma(9, 100), middle(9, 128);
  const SampleRows samples =
      rows_of({luma, {120, 130, 140, 128, 128}, middle, {110, 132, 134, 128, 128}, middle});
  const auto blues = [&](dts::RgbKernel kernel, bool is_lower) {
    const Bytes8 out = converted(kernel, samples, 4, is_lower);
    return Bytes8{out[2], out[5], out[8], out[11]};
  };
  const auto blue_of = [](int cb) {
    return static_cast<std::uint8_t>(100 + ((116130 * (cb - 128) + 32768) >> 16));
  };
  const auto blues_of = [&](int a, int b, int c, int d) {
    return Bytes8{blue_of(a), blue_of(b), blue_of(c), blue_of(d)};
  };
  CHECK(blues(plain().h1v1, false) == blues_of(130, 140, 128, 128));
  CHECK(blues(plain().h2v1, false) == blues_of(127, 133, 137, 137));
  CHECK(blues(plain().h1v2, false) == blues_of(130, 138, 128, 128));
  CHECK(blues(plain().h1v2, true) == blues_of(131, 139, 128, 128));

  // The lower row of chroma is the near one of the lower row of pixels.
  const Bytes8 pair = dts::testing::converted_pair(plain().h2v2, samples, 4);
  const auto blues_from = [&](std::size_t first) {
    return Bytes8{pair[first + 2], pair[first + 5], pair[first + 8], pair[first + 11]};
  };
  CHECK(blues_from(12) == blues_of(127, 132, 137, 136));
  CHECK(blues_from(0) == blues_of(127, 132, 135, 134));
}
