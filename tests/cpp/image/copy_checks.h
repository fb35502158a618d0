// SPDX-License-Identifier: Apache-2.0
// A copy of many sizes and addresses, with what must not be touched around it.
#pragma once

#include <algorithm>

#include "support.h"

namespace dts::testing {

template <class Copy>
void check_copies(std::initializer_list<std::size_t> sizes, Copy copy) {
  for (const std::size_t size : sizes) {
    for (const std::size_t from_at : {0, 1, 31}) {
      for (const std::size_t to_at : {0, 5, 32, 63}) {
        const Bytes source = noise(size + from_at, static_cast<std::uint32_t>(size));
        Bytes target(to_at + size + 64, std::byte{0x5A});
        copy(ConstByteSpan(source).subspan(from_at), target.data() + to_at);
        const auto guard = [](std::byte b) { return b == std::byte{0x5A}; };
        const auto begin = target.begin() + static_cast<std::ptrdiff_t>(to_at);
        const auto end = begin + static_cast<std::ptrdiff_t>(size);
        const bool is_equal = std::equal(
            begin, end, source.begin() + static_cast<std::ptrdiff_t>(from_at), source.end());
        CHECK(is_equal);
        CHECK(std::all_of(target.begin(), begin, guard));
        CHECK(std::all_of(end, target.end(), guard));
      }
    }
  }
}

}  // namespace dts::testing
