// SPDX-License-Identifier: Apache-2.0
#include "pipeline/scaled_source.h"

#include <doctest/doctest.h>

using dts::Box;
using dts::Filter;
using dts::FusedGeometry;
using dts::possible_halvings;
using dts::scaled_source;
using dts::SourcePart;

namespace {

FusedGeometry geometry_of(const Box& box, const dts::ImageSize& to,
                          Filter filter = Filter::kBilinear) {
  FusedGeometry geometry({1000, 1200});
  geometry.crop(box);
  geometry.resize(to, filter);
  return geometry;
}

}  // namespace

TEST_CASE("a picture is halved while the box stays as large as the result in both directions") {
  const auto halvings = [](std::int64_t height, std::int64_t width) {
    return possible_halvings(geometry_of({0, 0, height, width}, {100, 120}));
  };
  CHECK(halvings(199, 1200) == 0);
  CHECK(halvings(200, 239) == 0);
  CHECK(halvings(200, 240) == 1);
  CHECK(halvings(399, 500) == 1);
  CHECK(halvings(400, 480) == 2);
  CHECK(halvings(900, 960) == 3);
  CHECK(possible_halvings(geometry_of({0, 0, 900, 960}, {2, 2})) == 3);
  CHECK(possible_halvings(geometry_of({0, 0, 900, 960}, {2, 2}, Filter::kNearest)) == 0);
  CHECK(possible_halvings(FusedGeometry({1000, 1200})) == 0);
}

TEST_CASE("the box keeps its place in the smaller picture") {
  const auto source = scaled_source(geometry_of({101, 50, 403, 500}, {100, 120}), 2);
  CHECK(source.box == Box{25, 12, 101, 126});
  CHECK(source.part == SourcePart{0.5, 0.25, 125.0, 100.75});
  // Whole pixels need no room; the picture's last one is a part of a pixel.
  const auto half = scaled_source(geometry_of({2, 4, 996, 1194}, {100, 120}), 1);
  CHECK(half.box == Box{1, 2, 498, 597});
  CHECK(half.part == SourcePart{0, 0, 597, 498});
}

TEST_CASE("the box of a picture that is flipped first begins at its other end") {
  FusedGeometry geometry({1000, 1200});
  geometry.crop({101, 50, 403, 500});
  geometry.flip_horizontal();
  geometry.resize({100, 120}, Filter::kBilinear);
  const auto source = scaled_source(geometry, 2);
  CHECK(source.box == Box{25, 12, 101, 126});
  CHECK(source.part == SourcePart{0.5, 0.25, 125.0, 100.75});  // 138 - 137.5
  geometry = FusedGeometry({1000, 1200});
  geometry.crop({101, 51, 403, 500});
  geometry.flip_horizontal();
  geometry.flip_vertical();
  geometry.resize({100, 120}, Filter::kBilinear);
  CHECK(scaled_source(geometry, 2).part == SourcePart{0.25, 0.0, 125.0, 100.75});
}

TEST_CASE("what several results need has a pixel around it, inside of the picture") {
  CHECK(dts::scaled_around({100, 200, 50, 60}, {1000, 1200}, 1) == Box{49, 99, 27, 32});
  CHECK(dts::scaled_around({0, 1, 1000, 1199}, {1000, 1200}, 3) == Box{0, 0, 125, 150});
}
