// SPDX-License-Identifier: Apache-2.0
#include "ops/paths.h"

#include <algorithm>

#include "base/error.h"

namespace dts::ops {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool is_plain(char c) { return c > 0x20 && c < 0x7F && c != '%' && c != '|'; }

}  // namespace

std::string escape_path(std::string_view path) {
  std::string text;
  text.reserve(path.size());
  for (const char c : path) {
    if (is_plain(c)) {
      text += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      text += '%';
      text += kHexDigits[byte >> 4];
      text += kHexDigits[byte & 15];
    }
  }
  return text;
}

std::string unescape_path(std::string_view text) {
  std::string path;
  path.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      path += text[i];
      continue;
    }
    const auto high = i + 1 < text.size() ? kHexDigits.find(text[i + 1]) : std::string_view::npos;
    const auto low = i + 2 < text.size() ? kHexDigits.find(text[i + 2]) : std::string_view::npos;
    if (high == std::string_view::npos || low == std::string_view::npos) {
      throw InvalidArgument("a path with a broken %XX escape at character " + std::to_string(i));
    }
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (path.empty()) throw InvalidArgument("the path is empty");
  if (path.find('\0') != std::string::npos) throw InvalidArgument("the path holds a NUL byte");
  return path;
}

std::vector<std::string> split_paths(std::span<const std::byte> joined) {
  std::vector<std::string> paths;
  const auto* at = reinterpret_cast<const char*>(joined.data());
  const auto* const end = at + joined.size();
  while (at != end) {
    const auto* const stop = std::find(at, end, '\0');
    if (stop == end) throw InvalidArgument("the last path of the list has no end");
    if (stop == at) throw InvalidArgument("path " + std::to_string(paths.size()) + " is empty");
    paths.emplace_back(at, stop);
    at = stop + 1;
  }
  return paths;
}

}  // namespace dts::ops
