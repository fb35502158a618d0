// SPDX-License-Identifier: Apache-2.0
// A resize of a part of the source whose edges lie between pixels, by its definition.
#include <cmath>

#include "base/error.h"
#include "image/reference_resize.h"
#include "image/resample.h"
#include "support.h"

namespace dts {
namespace {

using testing::draw;
using testing::filter_support;
using testing::filter_value;
using testing::Picture;
using testing::Random;

// One value, both axes at once, in doubles.
double value_at(const Picture& source, Filter filter, const SourcePart& part,
                std::int64_t out_width, std::int64_t out_height, std::int64_t x, std::int64_t y,
                std::int64_t channel) {
  const auto weights = [filter](double start, double length, std::int64_t size, std::int64_t out,
                                std::int64_t i) {
    const double scale = length / static_cast<double>(out), stretch = std::max(scale, 1.0);
    const double center = start + (static_cast<double>(i) + 0.5) * scale;
    const double reach = filter_support(filter) * stretch;
    std::vector<double> all(static_cast<std::size_t>(size));
    double sum = 0;
    for (std::size_t p = 0; p < all.size(); ++p) {
      const double distance = static_cast<double>(p) + 0.5 - center;
      if (std::abs(distance) <= reach) all[p] = filter_value(filter, distance / stretch);
      sum += all[p];
    }
    for (double& weight : all) weight /= sum;
    return all;
  };
  const auto columns = weights(part.left, part.width, source.width, out_width, x);
  const auto rows = weights(part.top, part.height, source.height, out_height, y);
  double value = 0;
  for (std::int64_t v = 0; v < source.height; ++v) {
    for (std::int64_t u = 0; u < source.width; ++u) {
      value += rows[static_cast<std::size_t>(v)] * columns[static_cast<std::size_t>(u)] *
               source.at(v, u)[channel];
    }
  }
  return std::clamp(value, 0.0, 255.0);
}

}  // namespace

TEST_CASE("resize of a part: every filter, any place") {
  Random random(3);
  Resampler resampler;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const auto filter = static_cast<Filter>(2 + round % 4);
    const Picture source =
        testing::random_picture(random, draw(random, 4, 30), draw(random, 4, 30), 3);
    SourcePart part;
    part.left = static_cast<double>(draw(random, 0, 8)) / 4;
    part.top = static_cast<double>(draw(random, 0, 8)) / 8;
    part.width =
        static_cast<double>(source.width) - part.left - static_cast<double>(draw(random, 0, 7)) / 8;
    part.height =
        static_cast<double>(source.height) - part.top - static_cast<double>(draw(random, 0, 7)) / 4;
    const std::int64_t width = draw(random, 1, 14), height = draw(random, 1, 14);
    const Box window = {height / 3, width / 3, height - height / 3, width - width / 3};
    const ResamplePlan plan =
        resampler.plan(filter, source.width, source.height, width, height, window, part);
    Picture out(window.height, window.width, 3);
    resampler.run(plan, testing::cut(source, plan.source_box).view(), out.view());
    for (std::int64_t y = 0; y < window.height; ++y) {
      for (std::int64_t i = 0; i < window.width * 3; ++i) {
        const double expected = value_at(source, filter, part, width, height, window.left + i / 3,
                                         window.top + y, i % 3);
        // Rounded, and cut to bytes, between the passes.
        const double bound = filter == Filter::kBilinear || filter == Filter::kHamming ? 1.1 : 25;
        REQUIRE(std::abs(out.at(y, 0)[i] - expected) <= bound);
      }
    }
  }
}

TEST_CASE(
    "resize of a part: all of the source is as without one, sizes that are equal alone are no "
    "identity") {
  Random random(4);
  Resampler resampler;
  const Picture source = testing::random_picture(random, 20, 24, 3);
  const auto resized = [&](std::int64_t width, std::int64_t height, const SourcePart& part) {
    const ResamplePlan plan =
        resampler.plan(Filter::kBilinear, 24, 20, width, height, {0, 0, height, width}, part);
    Picture out(height, width, 3);
    resampler.run(plan, testing::cut(source, plan.source_box).view(), out.view());
    return out.pixels();
  };
  CHECK(resized(9, 7, {0, 0, 24, 20}) == resized(9, 7, {}));
  CHECK(resized(24, 20, {0, 0, 24, 20}) == source.pixels());
  CHECK(resized(24, 20, {0.5, 0, 23.5, 20}) != source.pixels());
}

TEST_CASE("resize of a part: places outside of the source are refused") {
  Resampler resampler;
  const auto plan = [&](Filter filter, const SourcePart& part) {
    return std::string(testing::thrown<InvalidArgument>([&] {
                         resampler.plan(filter, 24, 20, 9, 7, {0, 0, 7, 9}, part);
                       }).what());
  };
  const std::string outside = "resize: the part is not inside of the source 24x20";
  CHECK(plan(Filter::kBilinear, {-0.5, 0, 20, 20}) == outside);
  CHECK(plan(Filter::kBilinear, {0.5, 0, 23.75, 20}) == outside);
  CHECK(plan(Filter::kBilinear, {0, 1, 24, 20}) == outside);
  CHECK(plan(Filter::kBilinear, {0, 1, 24, 0}) == outside);
  CHECK(plan(Filter::kNearest, {0.5, 0, 20, 20}) ==
        "resize: nearest takes all of the source, not a part");
}

}  // namespace dts
