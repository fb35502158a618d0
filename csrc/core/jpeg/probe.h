// SPDX-License-Identifier: Apache-2.0
// What the markers of a JPEG say, without decoding it. Never reads outside of `data`,
// whatever the bytes. Thread-safe, no allocation.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace dts {

struct JpegInfo {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t num_components = 0;
  std::uint32_t precision = 8;
  std::uint8_t sof = 0;        // 0xC0..0xCF
  std::size_t scan_start = 0;  // offset of the first SOS marker, 0 when data ends before it
};

// Walks markers (so that a thumbnail's frame is not taken for the picture's) from SOI
// to the first SOF. Empty when `data` is no JPEG or ends before its SOF; then
// `needed_bytes` (where given) gets how many bytes from the start of the file would
// let the walk go on, 0 when more bytes would not help.
std::optional<JpegInfo> probe_jpeg(ConstByteSpan data, std::uint64_t* needed_bytes = nullptr);

// True when an EOI marker is found after the last scan, walking all markers.
bool is_complete_jpeg(ConstByteSpan data);

}  // namespace dts
