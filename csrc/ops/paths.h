// SPDX-License-Identifier: Apache-2.0
// File names are bytes, op arguments are UTF-8 text: a path crosses with every byte
// outside of printable ASCII, '%' and '|' written as %XX. Lists of paths cross as a
// uint8 tensor of NUL-ended byte strings instead.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dts::ops {

std::string escape_path(std::string_view path);
// InvalidArgument for a broken escape, an empty path or a NUL byte.
std::string unescape_path(std::string_view text);
// InvalidArgument when the last string is not ended or one is empty.
std::vector<std::string> split_paths(std::span<const std::byte> joined);

}  // namespace dts::ops
