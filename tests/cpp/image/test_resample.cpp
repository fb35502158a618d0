// SPDX-License-Identifier: Apache-2.0
#include "image/resample.h"

#include <doctest/doctest.h>

#include "image/reference_resize.h"
#include "support.h"

namespace dts {
namespace {

using testing::cut;
using testing::draw;
using testing::Picture;
using testing::Random;
using testing::random_picture;
using testing::reference_resize;

constexpr Filter kFilters[] = {Filter::kNearest, Filter::kBox,     Filter::kBilinear,
                               Filter::kHamming, Filter::kBicubic, Filter::kLanczos};

// Sizes as they come: mostly small, some of one pixel, a few large.
std::int64_t random_size(Random& random) {
  switch (draw(random, 0, 9)) {
    case 0:
      return draw(random, 1, 3);
    case 1:
      return draw(random, 100, 260);
    default:
      return draw(random, 1, 48);
  }
}

Box random_window(Random& random, std::int64_t width, std::int64_t height) {
  if (draw(random, 0, 2) == 0) return {0, 0, height, width};
  const std::int64_t top = draw(random, 0, height - 1), left = draw(random, 0, width - 1);
  return {top, left, draw(random, 1, height - top), draw(random, 1, width - left)};
}

// The window of a resize, from a source that holds the plan's box and nothing else.
Picture resize(Resampler& resampler, const Picture& source, Filter filter, std::int64_t width,
               std::int64_t height, const Box& window, std::int64_t padding = 0) {
  const ResamplePlan plan =
      resampler.plan(filter, source.width, source.height, width, height, window);
  const Picture box = cut(source, plan.source_box, padding);
  Picture out(window.height, window.width, source.channels, padding);
  resampler.run(plan, box.view(), out.view());
  REQUIRE(out.is_padding_untouched());
  return out;
}

TEST_CASE("resample: random cases equal the definition at every level") {
  std::vector<std::unique_ptr<Resampler>> resamplers;
  for (const SimdLevel level : testing::simd_levels()) {
    resamplers.push_back(std::make_unique<Resampler>(level));
  }
  Random random(31);
  for (int round = 0; round < 3000; ++round) {
    const std::int64_t channels = draw(random, 0, 2) == 0 ? 1 : 3;
    const Picture source =
        random_picture(random, random_size(random), random_size(random), channels, round % 2);
    std::int64_t width = random_size(random), height = random_size(random);
    if (round % 11 == 0) width = source.width;
    if (round % 13 == 0) height = source.height;
    const Filter filter = kFilters[draw(random, 0, 5)];
    const Box window = random_window(random, width, height);
    const std::int64_t padding = draw(random, 0, 7);
    const auto expected = cut(reference_resize(source, filter, width, height), window).pixels();
    for (const auto& resampler : resamplers) {
      const Picture found = resize(*resampler, source, filter, width, height, window, padding);
      REQUIRE(found.pixels() == expected);
    }
  }
}

TEST_CASE("resample: photos' sizes equal the definition at every level") {
  Random random(32);
  const Picture source = random_picture(random, 375, 500, 3);
  for (const Filter filter : kFilters) {
    for (const auto& [width, height] : {std::pair{224, 224}, {341, 256}, {640, 30}}) {
      const auto expected = reference_resize(source, filter, width, height).pixels();
      for (const SimdLevel level : testing::simd_levels()) {
        Resampler resampler(level);
        REQUIRE(resize(resampler, source, filter, width, height, {0, 0, height, width}).pixels() ==
                expected);
      }
    }
  }
}

TEST_CASE("resample: the source box is what the window's outputs read, no more") {
  Resampler resampler;
  // 100 -> 50 bilinear: output i reads [2i - 1, 2i + 3).
  const ResamplePlan plan = resampler.plan(Filter::kBilinear, 100, 100, 50, 50, {10, 0, 5, 50});
  CHECK(plan.source_box == Box{19, 0, 12, 100});
  CHECK(resampler.plan(Filter::kBilinear, 100, 100, 50, 50, {0, 49, 1, 1}).source_box ==
        Box{0, 97, 3, 3});
  // One axis unchanged: its pixels alone.
  CHECK(resampler.plan(Filter::kLanczos, 100, 80, 50, 80, {7, 0, 2, 50}).source_box ==
        Box{7, 0, 2, 100});
  CHECK(resampler.plan(Filter::kNearest, 7, 7, 4, 4, {1, 1, 2, 3}).source_box == Box{2, 2, 3, 5});
  CHECK(resampler.plan(Filter::kBicubic, 30, 20, 30, 20, {3, 4, 5, 6}).source_box ==
        Box{3, 4, 5, 6});
}

TEST_CASE("resample: a plan keeps what it was made from") {
  Resampler resampler;
  const ResamplePlan plan = resampler.plan(Filter::kBox, 9, 8, 7, 6, {1, 2, 3, 4});
  CHECK(plan.filter == Filter::kBox);
  CHECK(plan.source_width == 9);
  CHECK(plan.source_height == 8);
  CHECK(plan.out_width == 7);
  CHECK(plan.out_height == 6);
  CHECK(plan.window == Box{1, 2, 3, 4});
}

TEST_CASE("resample: plans run in any order, and by any resampler") {
  Random random(33);
  const Picture small = random_picture(random, 20, 30, 3),
                large = random_picture(random, 90, 70, 3);
  Resampler one, other;
  const ResamplePlan first = one.plan(Filter::kBicubic, 30, 20, 11, 17, {0, 0, 17, 11});
  const ResamplePlan second = one.plan(Filter::kLanczos, 70, 90, 33, 9, {2, 3, 5, 20});
  for (Resampler* resampler : {&one, &other}) {
    Picture out(17, 11, 3), window(5, 20, 3);
    resampler->run(first, cut(small, first.source_box).view(), out.view());
    resampler->run(second, cut(large, second.source_box).view(), window.view());
    CHECK(out.pixels() == reference_resize(small, Filter::kBicubic, 11, 17).pixels());
    CHECK(window.pixels() ==
          cut(reference_resize(large, Filter::kLanczos, 33, 9), {2, 3, 5, 20}).pixels());
  }
}

TEST_CASE("resample: the order of passes is that of the Pillow asked for") {
  Random random(34);
  const PassOrder orders[] = {PassOrder::kHorizontalFirst, PassOrder::kVerticalIfVeryTall,
                              PassOrder::kVerticalIfShrunkMore};
  const std::pair<std::int64_t, std::int64_t> sources[] = {{30, 90}, {2, 260}, {60, 50}};
  for (const auto& [source_width, source_height] : sources) {
    const Picture source = random_picture(random, source_height, source_width, 3, 1);
    for (const PassOrder order : orders) {
      Resampler resampler(best_simd_level(), order);
      CHECK(resize(resampler, source, Filter::kBicubic, 25, 20, {0, 0, 20, 25}).pixels() ==
            reference_resize(source, Filter::kBicubic, 25, 20, order).pixels());
    }
  }
}

TEST_CASE("resample: sizes and windows out of range are errors that say so") {
  Resampler resampler;
  const auto plan = [&](std::int64_t width, std::int64_t height, std::int64_t out_width,
                        std::int64_t out_height, const Box& window) {
    return [=, &resampler] {
      resampler.plan(Filter::kBilinear, width, height, out_width, out_height, window);
    };
  };
  testing::check_message<InvalidArgument>(
      plan(0, 5, 1, 1, {0, 0, 1, 1}),
      "resize: the source is 0x5, expected 1 to 16777216 pixels a side");
  testing::check_message<InvalidArgument>(
      plan(5, 16777217, 1, 1, {0, 0, 1, 1}),
      "resize: the source is 5x16777217, expected 1 to 16777216 pixels a side");
  testing::check_message<InvalidArgument>(
      plan(5, 5, 3, -1, {0, 0, 1, 1}),
      "resize: the output is 3x-1, expected 1 to 16777216 pixels a side");
  for (const Box& window : {Box{0, 0, 0, 1}, Box{0, 0, 1, 4}, Box{-1, 0, 1, 1}, Box{3, 0, 1, 1},
                            Box{2, 0, 2, 1}, Box{0, 1, 1, INT64_MAX}}) {
    CHECK_THROWS_AS(plan(5, 5, 3, 3, window)(), InvalidArgument);
  }
  testing::check_message<InvalidArgument>(
      plan(5, 5, 3, 3, {2, 1, 2, 2}),
      "resize: the window 2x2 at (1, 2) is not inside of the output 3x3");
}

TEST_CASE("resample: views and plans that don't fit are errors that say so") {
  Resampler resampler;
  const ResamplePlan plan = resampler.plan(Filter::kBilinear, 6, 5, 3, 4, {0, 0, 4, 3});
  Picture source(5, 6, 3), out(4, 3, 3);
  const auto run = [&](const ResamplePlan& made, Picture& from, Picture& to) {
    return [&resampler, &made, &from, &to] { resampler.run(made, from.view(), to.view()); };
  };
  Picture narrow(5, 5, 3), gray(4, 3, 1), wide(4, 4, 3), alpha(5, 6, 4);
  testing::check_message<InvalidArgument>(run(plan, narrow, out),
                                          "resize: the source is 5x5, the plan's is 6x5");
  testing::check_message<InvalidArgument>(run(plan, source, wide),
                                          "resize: the output is 4x4, the plan's is 3x4");
  testing::check_message<InvalidArgument>(run(plan, source, gray), "resize: 3 channels to 1");
  testing::check_message<InvalidArgument>(run(plan, alpha, out),
                                          "resize: the source has 4 channels, expected 1 or 3");
  ResamplePlan changed = plan;
  changed.source_height = 50;
  testing::check_message<InvalidArgument>(
      run(changed, source, out),
      "resize: the plan's source box is 6x5 at (0, 0), not what plan() gives");
}

}  // namespace
}  // namespace dts
