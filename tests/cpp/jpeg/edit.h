// SPDX-License-Identifier: Apache-2.0
// Changes to the bytes of a JPEG, made by hand or at random.
#pragma once

#include <algorithm>
#include <vector>

#include "jpeg/encoder.h"

namespace dts::testing {

inline int value_at(const Bytes& data, std::size_t at) { return std::to_integer<int>(data[at]); }

// Where the first segment with this marker begins, walking the header of a good file; its size
// when there is none up to SOS.
inline std::size_t segment_at(const Bytes& data, int marker) {
  std::size_t at = 2;
  while (value_at(data, at + 1) != marker) {
    if (value_at(data, at + 1) == 0xDA) return data.size();
    at += 2 + static_cast<std::size_t>(value_at(data, at + 2) * 256 + value_at(data, at + 3));
  }
  return at;
}

// The first byte behind the header of the first scan.
inline std::size_t coded_at(const Bytes& data) {
  const std::size_t scan = segment_at(data, 0xDA);
  return scan + 2 + static_cast<std::size_t>(value_at(data, scan + 3));
}

// Where each RSTn of a good file with one scan begins.
inline std::vector<std::size_t> restarts_at(const Bytes& data) {
  std::vector<std::size_t> found;
  for (std::size_t at = coded_at(data); at + 1 < data.size(); ++at) {
    const int code = value_at(data, at + 1);
    if (value_at(data, at) == 0xFF && code >= 0xD0 && code <= 0xD7) found.push_back(at);
  }
  return found;
}

inline Bytes with_inserted(Bytes data, std::size_t at, const std::vector<int>& values) {
  Bytes more;
  for (const int value : values) more.push_back(static_cast<std::byte>(value));
  data.insert(data.begin() + static_cast<std::ptrdiff_t>(at), more.begin(), more.end());
  data.shrink_to_fit();
  return data;
}

inline Bytes with_value(Bytes data, std::size_t at, int value) {
  data[at] = static_cast<std::byte>(value);
  return data;
}

// Without the bytes [begin, end).
inline Bytes without(Bytes data, std::size_t begin, std::size_t end) {
  data.erase(data.begin() + static_cast<std::ptrdiff_t>(begin),
             data.begin() + static_cast<std::ptrdiff_t>(end));
  data.shrink_to_fit();
  return data;
}

// One to six bytes are others.
inline Bytes mutate(const Bytes& data, std::uint64_t& state) {
  constexpr int kTelling[] = {0xFF, 0x00, 0xD8, 0xD9, 0xDA, 0xC0, 0xC4, 0xDB, 0xD0, 0x11};
  Bytes changed = data;
  const unsigned num_changes = 1 + next_random(state, 6);
  for (unsigned k = 0; k < num_changes; ++k) {
    const auto size = static_cast<unsigned>(data.size());
    // As often in the header as in the coded data.
    const unsigned at =
        next_random(state, next_random(state, 2) == 0 ? size : std::min(size, 700u));
    changed[at] = static_cast<std::byte>(
        next_random(state, 2) == 0 ? kTelling[next_random(state, 10)] : next_random(state, 256));
  }
  return changed;
}

}  // namespace dts::testing
