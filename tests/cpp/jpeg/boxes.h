// SPDX-License-Identifier: Apache-2.0
// Boxes of a picture, at random and where decoding a part of it is most likely to go wrong.
#pragma once

#include <algorithm>

#include "base/box.h"
#include "jpeg/encoder.h"

namespace dts::testing {

class BoxMaker {
 public:
  BoxMaker(std::int64_t width, std::int64_t height, std::uint64_t seed)
      : width_(width), height_(height), state_(seed) {}

  // One of: anywhere, a pixel, at block edges, a block, touching edges of the picture.
  Box next() {
    Box box;
    span(height_, &box.top, &box.height);
    span(width_, &box.left, &box.width);
    return box;
  }

 private:
  void span(std::int64_t size, std::int64_t* first, std::int64_t* length) {
    std::int64_t a = random(size);
    std::int64_t b = random(size);
    switch (random(6)) {
      case 0:
        b = a;  // one pixel
        break;
      case 1:
        a = a / 8 * 8;
        b = std::min(b / 8 * 8 + 7, size - 1);
        break;
      case 2:
        a = 0;
        break;
      case 3:
        b = size - 1;
        break;
      case 4:
        a = b = a / 8 * 8;
        break;
      default:
        break;
    }
    *first = std::min(a, b);
    *length = std::max(a, b) - *first + 1;
  }
  std::int64_t random(std::int64_t below) {
    return next_random(state_, static_cast<unsigned>(below));
  }

  std::int64_t width_, height_;
  std::uint64_t state_;
};

}  // namespace dts::testing
