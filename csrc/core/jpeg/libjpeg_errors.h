// SPDX-License-Identifier: Apache-2.0
// libjpeg's error manager as the sessions use it: nothing is printed, warnings are counted,
// and the error exit jumps back to where the owner has called setjmp(exit_point).
//
// A codec's `err` points to `manager` of an object that outlives it. One thread at a time.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdio>

// jpeglib.h needs FILE and size_t declared before it.
#include <jpeglib.h>

namespace dts {

struct LibjpegErrors {
  LibjpegErrors();
  // Forgets warnings and the last error.
  void reset();

  jpeg_error_mgr manager;  // the first member: libjpeg hands out its address
  std::jmp_buf exit_point;
  char message[JMSG_LENGTH_MAX];
};

}  // namespace dts
