// SPDX-License-Identifier: Apache-2.0
#include "jpeg/codec_info.h"

// jpeglib.h needs FILE and size_t declared before it.
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#ifndef LIBJPEG_TURBO_VERSION
#error "jpeglib.h is not libjpeg-turbo's; its pixels and partial decoding are what we build on"
#endif

#define DTS_TEXT_OF(x) #x
#define DTS_TEXT(x) DTS_TEXT_OF(x)

namespace dts {

std::string jpeg_library() {
  // jpeg_std_error links against the library, so a missing one shows at load time and
  // not at the first picture.
  jpeg_error_mgr errors;
  jpeg_std_error(&errors);
  return "libjpeg-turbo " DTS_TEXT(LIBJPEG_TURBO_VERSION);
}

}  // namespace dts
