// SPDX-License-Identifier: Apache-2.0
#include "format/raw_sample.h"

#include "format/raw_head.h"
#include "support.h"

namespace dts {
namespace {

using testing::Bytes;
using testing::write_raw_head;

Bytes sample(const RawShape& shape) {
  Bytes bytes(kRawHeadBytes + static_cast<std::size_t>(shape.num_bytes()));
  write_raw_head(shape, bytes);
  return bytes;
}

TEST_CASE("raw samples: the head to the byte") {
  Bytes head(kRawHeadBytes, std::byte{0xEE});
  write_raw_head({0x0102, 0x0304, 3}, head);
  const unsigned char expected[] = {'D', 'T', 'S', 'R', 2, 1, 4, 3, 3, 0, 0, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < kRawHeadBytes; ++i) CHECK(head[i] == std::byte{expected[i]});
}

TEST_CASE("raw samples: the shape comes back, and only from exactly such bytes") {
  for (const RawShape& shape : {RawShape{5, 7, 3}, RawShape{1, 1, 1}, RawShape{300, 1, 1}}) {
    const Bytes good = sample(shape);
    CHECK(raw_shape(good) == shape);
    for (std::size_t size = 0; size < std::min<std::size_t>(good.size(), 40); ++size) {
      CHECK_FALSE(raw_shape(ConstByteSpan(good).first(size)));
    }
    Bytes longer = good;
    longer.push_back(std::byte{0});
    CHECK_FALSE(raw_shape(longer));
    for (std::size_t at = 0; at < kRawHeadBytes; ++at) {
      Bytes changed = good;
      changed[at] ^= std::byte{0x10};
      CHECK_FALSE(raw_shape(changed));
    }
  }
  Bytes empty(kRawHeadBytes);
  std::memcpy(empty.data(), "DTSR", 4);
  CHECK_FALSE(raw_shape(empty));
}

TEST_CASE("raw samples: shapes that have no head") {
  for (const RawShape& shape :
       {RawShape{0, 1, 3}, RawShape{1, 0, 3}, RawShape{1, 1, 2}, RawShape{1, 1, 4}}) {
    CHECK_FALSE(raw_shape(sample(shape)));
  }
}

}  // namespace
}  // namespace dts
