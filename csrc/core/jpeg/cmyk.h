// SPDX-License-Identifier: Apache-2.0
// CMYK as JPEG files store it, turned into RGB with Pillow's arithmetic: its reader
// inverts the samples whether or not the file says so, its conversion then computes in
// 8 bits. Input and output are the caller's memory and don't overlap. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dts {

// `cmyk`: 4 bytes a pixel as libjpeg delivers them. `rgb`: room for 3 bytes a pixel.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::size_t num_pixels, std::uint8_t* rgb);

}  // namespace dts
