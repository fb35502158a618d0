// SPDX-License-Identifier: Apache-2.0
// How far a JPEG that is resized may be decoded smaller, and which pixels of the smaller picture
// the resize then takes: the box's edges stay where they are, between pixels if need be, so that
// nothing is shifted. Plain arithmetic.
#pragma once

#include "base/box.h"
#include "image/resample.h"
#include "pipeline/fused_geometry.h"

namespace dts {

// The largest number of times that the box can be halved and is still as large as what it is
// resized to in both directions, 3 at most. 0: no resize, or a filter (nearest, box)
// that would pick others.
int possible_halvings(const FusedGeometry& geometry);

// A part of the source as it lies in the source at 1 / 2^halvings of its size.
struct ScaledSource {
  Box box;          // whole pixels around it
  SourcePart part;  // its place in the box, turned by the flips before the resize
};
ScaledSource scaled_source(const FusedGeometry& geometry, int halvings);

// What any scaled_source() of at most as many halvings that `box` of the source was found for
// needs: with a pixel around, as filters of smaller pictures reach a little further.
Box scaled_around(const Box& box, const ImageSize& source, int halvings);

}  // namespace dts
