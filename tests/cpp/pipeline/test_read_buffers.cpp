// SPDX-License-Identifier: Apache-2.0
#include "pipeline/read_buffers.h"

#include "support.h"

namespace dts {
namespace {

TEST_CASE("read buffers: one stream at a time, and the memory stays for the next") {
  ReadBuffers buffers;
  buffers.acquire();
  const ByteSpan first = buffers.piece(0).reserve(1000);
  const ByteSpan second = buffers.piece(1).reserve(500);
  CHECK((first.data() + 1000 <= second.data() || second.data() + 500 <= first.data()));
  testing::check_message<InvalidArgument>(
      [&] { buffers.acquire(); },
      "the read buffers are in use: another loader that shares them has an unfinished iteration; "
      "end it first (or delete its iterator), or give each loader its own buffers");
  CHECK(buffers.held_bytes() == 0);
  buffers.release();
  CHECK(buffers.held_bytes() == 1500);
  buffers.acquire();
  CHECK(buffers.piece(0).reserve(1000).data() == first.data());
}

}  // namespace
}  // namespace dts
