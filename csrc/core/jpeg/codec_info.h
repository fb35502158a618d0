// SPDX-License-Identifier: Apache-2.0
// Which JPEG library this build uses. Pixels depend on it, so files and reports say so.
#pragma once

#include <string>

namespace dts {

// "libjpeg-turbo 2.1.5"
std::string jpeg_library();

}  // namespace dts
