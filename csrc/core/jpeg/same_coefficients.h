// SPDX-License-Identifier: Apache-2.0
// Proof, without decoding a pixel, that a JPEG shows what another one shows: all that libjpeg
// makes pixels of is the same in both. That is the size, the colour space and the markers it is
// told by, and of each component the sampling factors, the quantisation table and the coefficients.
//
// Not for progressive pictures that lack bits: libjpeg then estimates coefficients, and the
// way a picture is coded decides which. One object per thread; libjpeg's memory is given back.
#pragma once

#include "base/bytes.h"
#include "jpeg/libjpeg_session.h"

namespace dts {

class CoefficientComparer {
 public:
  // `coefficients`: what jpeg_read_coefficients() gave of `source`, which is still open.
  // False: there is a difference, or `data` can't be read without a warning; nothing is proven.
  // std::bad_alloc: no memory.
  bool are_same(LibjpegSession& source, jvirt_barray_ptr* coefficients, ConstByteSpan data);

 private:
  LibjpegSession session_;
};

}  // namespace dts
