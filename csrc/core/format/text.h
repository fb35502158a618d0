// SPDX-License-Identifier: Apache-2.0
// Words for error messages about bytes of a file.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace dts {

// 0x0badcafe
inline std::string hex32(std::uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof(text), "0x%08x", static_cast<unsigned>(value));
  return text;
}

inline std::string_view as_text(ConstByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// 'LV0B', with whatever does not print as \xNN, so that a message is always ASCII.
inline std::string in_quotes(std::string_view bytes) {
  std::string text = "'";
  for (const char c : bytes) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7F && c != '\'' && c != '\\') {
      text += c;
    } else {
      char escaped[5];
      std::snprintf(escaped, sizeof(escaped), "\\x%02x", static_cast<unsigned>(code));
      text += escaped;
    }
  }
  return text + "'";
}

}  // namespace dts
