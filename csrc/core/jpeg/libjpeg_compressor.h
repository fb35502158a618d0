// SPDX-License-Identifier: Apache-2.0
// libjpeg's writing side with walls around it: it writes to memory of the session, prints
// nothing, and its error exit comes back as `false`. What libjpeg_session.h says of
// guarded() holds here, too. One thread per session.
//
// The bytes written are the session's and stay until the next begin(). Their memory is
// kept for the pictures to come.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <type_traits>

#include "base/bytes.h"
#include "jpeg/libjpeg_errors.h"

namespace dts {

class LibjpegCompressor {
 public:
  LibjpegCompressor();
  ~LibjpegCompressor();
  LibjpegCompressor(const LibjpegCompressor&) = delete;
  LibjpegCompressor& operator=(const LibjpegCompressor&) = delete;

  // Starts afresh with nothing written. `expected_bytes`: a guess that saves growing;
  // std::bad_alloc where there is no memory for it. False when libjpeg gave up.
  bool begin(std::size_t expected_bytes);
  // Gives back all memory libjpeg holds; what was written stays.
  void close();

  // Runs step(codec); false when libjpeg gave up on the way.
  template <class Step>
  bool guarded(Step step) {
    static_assert(std::is_trivially_destructible_v<Step>);
    if (setjmp(errors_.exit_point) != 0) return false;
    step(codec_);
    return true;
  }

  // What was written up to now; the whole picture after jpeg_finish_compress().
  ConstByteSpan written() const;
  // What libjpeg gave up for: its code (jerror.h) and its words.
  int error_code() const { return errors_.manager.msg_code; }
  const char* message() const { return errors_.message; }
  int num_warnings() const { return static_cast<int>(errors_.manager.num_warnings); }

  std::size_t held_bytes() const { return capacity_; }
  // Gives the memory back if it is more than `keep_bytes`; written() is empty then.
  void shrink(std::size_t keep_bytes);

 private:
  static LibjpegCompressor& of(j_common_ptr codec);
  static void do_nothing(j_compress_ptr) {}
  static boolean grow(j_compress_ptr codec);
  bool reserve(std::size_t capacity);

  jpeg_compress_struct codec_;
  jpeg_destination_mgr destination_;
  LibjpegErrors errors_;
  bool is_created_ = false;
  // malloc's: it grows inside of libjpeg's frames, where nothing may throw.
  JOCTET* buffer_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace dts
