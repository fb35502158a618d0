// SPDX-License-Identifier: Apache-2.0
#include "image/two_pass.h"

#include <doctest/doctest.h>

#include "image/packed_axis.h"
#include "image/reference_resize.h"

namespace dts {
namespace {

using testing::cut;
using testing::draw;
using testing::Picture;
using testing::Random;
using testing::random_picture;
using testing::resize_columns;
using testing::resize_rows;

// Both axes of a resize of `in` to `width` x `height`, in the order asked for.
Picture run(TwoPassResize& two_pass, const ResampleKernels& kernels, const Picture& in,
            Filter filter, std::int64_t width, std::int64_t height, bool vertical_first) {
  AxisWeights weights;
  compute_weights({filter, in.width, width, 0, width}, &weights);
  const testing::OwnedAxis columns(weights, kernels.column_layout, false);
  compute_weights({filter, in.height, height, 0, height}, &weights);
  const testing::OwnedAxis rows(weights, kernels.row_layout, true);
  Picture out(height, width, in.channels, 5);
  two_pass.run(columns.axis, rows.axis, vertical_first, in.view(), out.view());
  REQUIRE(out.is_padding_untouched());
  return out;
}

Picture expect(const Picture& in, Filter filter, std::int64_t width, std::int64_t height,
               bool vertical_first) {
  const auto columns = [&](const Picture& picture) {
    return width == in.width ? picture : resize_columns(picture, filter, width);
  };
  const auto rows = [&](const Picture& picture) {
    return height == in.height ? picture : resize_rows(picture, filter, height);
  };
  return vertical_first ? columns(rows(in)) : rows(columns(in));
}

TEST_CASE("two passes: either order, with either pass doing nothing") {
  for (const SimdLevel level : testing::simd_levels()) {
    const ResampleKernels& kernels = resample_kernels(level);
    TwoPassResize two_pass(kernels);
    Random random(21);
    for (int round = 0; round < 400; ++round) {
      const std::int64_t channels = round % 3 == 0 ? 1 : 3;
      const Picture in = random_picture(random, draw(random, 1, 40), draw(random, 1, 40), channels,
                                        round % 2, draw(random, 0, 3));
      std::int64_t width = draw(random, 1, 50), height = draw(random, 1, 50);
      if (round % 5 == 0) width = in.width;
      if (round % 7 == 0) height = in.height;
      const Filter filter = round % 2 == 0 ? Filter::kBicubic : Filter::kBilinear;
      for (const bool vertical_first : {false, true}) {
        const Picture found = run(two_pass, kernels, in, filter, width, height, vertical_first);
        REQUIRE(found.pixels() == expect(in, filter, width, height, vertical_first).pixels());
      }
    }
  }
}

TEST_CASE("two passes: far smaller and far larger, large rings, long rows") {
  const struct {
    std::int64_t height, width, out_height, out_width;
  } cases[] = {{600, 3, 1, 1},  {3, 600, 1, 2},   {1, 1, 150, 200}, {2, 2, 1, 700},
               {500, 40, 7, 3}, {40, 1500, 3, 9}, {9, 5, 400, 3},   {1, 900, 50, 1000}};
  for (const SimdLevel level : testing::simd_levels()) {
    const ResampleKernels& kernels = resample_kernels(level);
    TwoPassResize two_pass(kernels);
    Random random(22);
    for (const auto& sizes : cases) {
      for (const std::int64_t channels : {1, 3}) {
        const Picture in = random_picture(random, sizes.height, sizes.width, channels, 1);
        for (const bool vertical_first : {false, true}) {
          const Picture found = run(two_pass, kernels, in, Filter::kLanczos, sizes.out_width,
                                    sizes.out_height, vertical_first);
          REQUIRE(found.pixels() ==
                  expect(in, Filter::kLanczos, sizes.out_width, sizes.out_height, vertical_first)
                      .pixels());
        }
      }
    }
  }
}

}  // namespace
}  // namespace dts
