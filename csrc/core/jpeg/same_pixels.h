// SPDX-License-Identifier: Apache-2.0
// Whether two JPEGs decode to the same pixels: both are decoded side by side, a few rows
// at a time, in all components (CMYK before its conversion). One object per thread; its
// memory is reused.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "jpeg/libjpeg_session.h"

namespace dts {

enum class PixelComparison {
  kSame,
  kDifferent,  // also in size or number of components
  kFailed,     // libjpeg gave up on one of them, or warned
};

class PixelComparer {
 public:
  // std::bad_alloc: no memory.
  PixelComparison compare(ConstByteSpan a, ConstByteSpan b);

 private:
  struct Side {
    LibjpegSession session;
    std::vector<JSAMPLE> rows;
  };
  static bool start(Side& side, ConstByteSpan data);
  static bool read_rows(Side& side, JDIMENSION num_rows);

  Side a_, b_;
};

}  // namespace dts
