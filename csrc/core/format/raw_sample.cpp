// SPDX-License-Identifier: Apache-2.0
#include "format/raw_sample.h"

#include <algorithm>
#include <cstring>

namespace dts {
namespace {

constexpr char kMagic[4] = {'D', 'T', 'S', 'R'};
constexpr std::size_t kZerosAt = 9;

bool is_shape(const RawShape& shape) {
  return shape.height >= 1 && shape.height <= 0xFFFF && shape.width >= 1 && shape.width <= 0xFFFF &&
         (shape.channels == 1 || shape.channels == 3);
}

}  // namespace

std::optional<RawShape> raw_shape(ConstByteSpan stored) {
  if (stored.size() < kRawHeadBytes || std::memcmp(stored.data(), kMagic, sizeof kMagic) != 0) {
    return std::nullopt;
  }
  RawShape shape;
  shape.height = load_le<std::uint16_t>(stored.data() + 4);
  shape.width = load_le<std::uint16_t>(stored.data() + 6);
  shape.channels = load_le<std::uint8_t>(stored.data() + 8);
  const ConstByteSpan zeros = stored.subspan(kZerosAt, kRawHeadBytes - kZerosAt);
  const bool is_zero =
      std::all_of(zeros.begin(), zeros.end(), [](std::byte value) { return value == std::byte{}; });
  if (!is_shape(shape) || !is_zero ||
      stored.size() - kRawHeadBytes != static_cast<std::size_t>(shape.num_bytes())) {
    return std::nullopt;
  }
  return shape;
}

}  // namespace dts
