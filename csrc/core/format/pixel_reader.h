// SPDX-License-Identifier: Apache-2.0
// The payload of a pixel file: all of it at once, checked, or its tables.
//
// Thread-safe, as the DtsFile is. Memory is the caller's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/file.h"
#include "format/reader.h"

namespace dts {

// DtsFile::samples() of a pixel file.
SampleTable pixel_samples(const Header& header);

// DtsFile::labels() of a pixel file. CorruptFile names the first label that is no class.
std::vector<std::int32_t> read_pixel_labels(const DtsFile& file, const InputFile& handle);

// Reads the whole payload: labels [n], and pixels [n * height * width * channels] in source
// order, NHWC. `check`: the CRC-32 of everything behind the header, sections included.
// InvalidArgument for a file of blocks or other lengths; CorruptFile for a wrong CRC, a label
// that is no class, or a file that changed.
void read_pixels(const DtsFile& file, std::span<std::int64_t> labels, ByteSpan pixels, bool check,
                 const InputFile& handle);

}  // namespace dts
