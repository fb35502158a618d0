// SPDX-License-Identifier: Apache-2.0
#include "jpeg/probe_file.h"

#include <algorithm>

namespace dts {
namespace {

// Most headers end within the first kilobytes; an ICC profile or a thumbnail may push
// the frame header further out, up to the limit, behind which Pillow is asked instead.
constexpr std::size_t kFirstProbeBytes = 16384;
constexpr std::size_t kMaxProbeBytes = std::size_t{64} << 20;

}  // namespace

std::optional<JpegInfo> probe_file(const InputFile& file, std::uint64_t offset, std::uint64_t size,
                                   std::vector<std::byte>& buffer) {
  std::uint64_t wanted = kFirstProbeBytes;
  while (true) {
    wanted = std::min<std::uint64_t>(wanted, size);
    if (buffer.size() < wanted) buffer.resize(wanted);
    const std::size_t got = file.read_some(offset, ByteSpan(buffer).first(wanted));
    std::uint64_t needed = 0;
    const auto info = probe_jpeg(ConstByteSpan(buffer).first(got), &needed);
    if (info) return info;
    if (needed <= wanted || needed > kMaxProbeBytes || wanted >= size) return std::nullopt;
    wanted = std::max<std::uint64_t>(needed, 2 * wanted);
  }
}

}  // namespace dts
