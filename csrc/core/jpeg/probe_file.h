// SPDX-License-Identifier: Apache-2.0
// What the markers of a JPEG in a file say, reading no more of it than they need.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/file.h"
#include "jpeg/probe.h"

namespace dts {

// Probes the `size` bytes from `offset` on. `buffer` is scratch, kept from call to call. Empty
// where probe_jpeg finds no frame header; the range may end before `size` bytes. IoError
// names the file. Thread-safe for different buffers.
std::optional<JpegInfo> probe_file(const InputFile& file, std::uint64_t offset, std::uint64_t size,
                                   std::vector<std::byte>& buffer);

}  // namespace dts
