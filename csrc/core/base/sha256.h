// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for fingerprints of a few kilobytes: plain code, no speed asked for.
#pragma once

#include <array>
#include <string>

#include "base/bytes.h"

namespace dts {

std::array<std::byte, 32> sha256(ConstByteSpan data);
// The same as 64 lower-case hexadecimal digits.
std::string sha256_hex(ConstByteSpan data);

}  // namespace dts
