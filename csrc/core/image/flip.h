// SPDX-License-Identifier: Apache-2.0
// Mirror images in place. Thread-safe.
#pragma once

#include "image/view.h"

namespace dts {

void flip_horizontal(const ImageView& image);  // left and right exchanged
void flip_vertical(const ImageView& image);    // top and bottom exchanged

}  // namespace dts
