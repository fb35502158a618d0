// SPDX-License-Identifier: Apache-2.0
// libjpeg with walls around it: it reads from a span, prints nothing, and its error
// exit comes back as `false` instead of ending the process.
//
// The error exit is a longjmp, which would skip destructors. So whatever runs inside of
// guarded() is C in C++ clothes: no object with a destructor, nothing that throws. All
// that must survive lives in the session or with the caller. One thread per session.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <type_traits>

#include "base/bytes.h"
#include "jpeg/libjpeg_errors.h"

namespace dts {

class LibjpegSession {
 public:
  LibjpegSession();
  ~LibjpegSession() { close(); }
  LibjpegSession(const LibjpegSession&) = delete;
  LibjpegSession& operator=(const LibjpegSession&) = delete;

  // Starts afresh and reads the header of `data`, which must outlive its use. Nothing of
  // an earlier picture stays: libjpeg would decode a file that lacks its tables with
  // those of the one before.
  bool read_header(ConstByteSpan data);
  // Gives back all memory libjpeg holds; read_header() begins again.
  void close();

  // Runs step(codec); false when libjpeg gave up on the way.
  template <class Step>
  bool guarded(Step step) {
    static_assert(std::is_trivially_destructible_v<Step>);
    if (setjmp(errors_.exit_point) != 0) return false;
    step(codec_);
    return true;
  }

  jpeg_decompress_struct& codec() { return codec_; }
  // Bytes of the data that libjpeg has not read yet.
  ConstByteSpan unread() const;
  // libjpeg asked for bytes behind the data.
  bool passed_end() const { return passed_end_; }
  // What libjpeg gave up for: its code (jerror.h) and its words.
  int error_code() const { return errors_.manager.msg_code; }
  const char* message() const { return errors_.message; }

 private:
  static LibjpegSession& of(j_common_ptr codec);
  static void do_nothing(j_decompress_ptr) {}
  static boolean continue_with_end(j_decompress_ptr codec);
  static void skip_bytes(j_decompress_ptr codec, long num_bytes);

  jpeg_decompress_struct codec_;
  jpeg_source_mgr source_;
  LibjpegErrors errors_;
  bool is_created_ = false;
  bool passed_end_ = false;
};

// Are the low frequencies of a progressive picture not known to the last bit? Then
// libjpeg estimates them from the blocks around, in each version in its own way: only
// Pillow's own library gives Pillow's pixels. After jpeg_start_decompress() or
// jpeg_read_coefficients().
bool smooths_blocks(const jpeg_decompress_struct& codec);

}  // namespace dts
