// SPDX-License-Identifier: Apache-2.0
#include "jpeg/libjpeg_errors.h"

#include <type_traits>

namespace dts {
namespace {

// So that the address of its first member is its own.
static_assert(std::is_standard_layout_v<LibjpegErrors>);

[[noreturn]] void exit_with_error(j_common_ptr codec) {
  auto* const errors = reinterpret_cast<LibjpegErrors*>(codec->err);
  errors->manager.format_message(codec, errors->message);
  std::longjmp(errors->exit_point, 1);
}

void count_warning(j_common_ptr codec, int level) {
  if (level < 0) ++codec->err->num_warnings;
}

void stay_silent(j_common_ptr) {}

}  // namespace

LibjpegErrors::LibjpegErrors() : manager{}, exit_point{}, message{} {
  jpeg_std_error(&manager);
  manager.error_exit = exit_with_error;
  manager.emit_message = count_warning;
  manager.output_message = stay_silent;
}

void LibjpegErrors::reset() {
  manager.num_warnings = 0;
  manager.msg_code = 0;
  message[0] = '\0';
}

}  // namespace dts
