// SPDX-License-Identifier: Apache-2.0
#include "base/crc32.h"

#ifdef DTS_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

namespace dts {
namespace {

// Polynomials over GF(2) modulo the CRC's, bit 31 being the coefficient of x^0.
constexpr std::uint32_t kPolynomial = 0xEDB88320;
constexpr std::uint32_t kOne = std::uint32_t{1} << 31;
constexpr std::uint32_t kX8 = std::uint32_t{1} << 23;  // one byte

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// What `num_bytes` zero bytes make of a CRC register: its product with x^(8 * num_bytes).
std::uint32_t shift(std::uint32_t state, std::uint64_t num_bytes) {
  std::uint32_t factor = kOne;
  for (std::uint32_t square = kX8; num_bytes != 0; num_bytes >>= 1) {
    if ((num_bytes & 1) != 0) factor = multiply(factor, square);
    square = multiply(square, square);
  }
  return multiply(state, factor);
}

}  // namespace

std::uint32_t crc32(std::uint32_t crc, ConstByteSpan data) {
  // Both libraries answer a null pointer with the start value instead of `crc`.
  if (data.empty()) return crc;
#ifdef DTS_HAVE_LIBDEFLATE
  return libdeflate_crc32(crc, data.data(), data.size());
#else
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
#endif
}

std::uint32_t crc32_combine(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t length_b) {
  return shift(crc_a, length_b) ^ crc_b;
}

std::uint32_t crc32_zeros(std::uint32_t crc_a, std::uint64_t count) {
  // The register is the complement of the CRC that is reported.
  return ~shift(~crc_a, count);
}

const char* crc32_backend() {
#ifdef DTS_HAVE_LIBDEFLATE
  return "libdeflate";
#else
  return "zlib";
#endif
}

}  // namespace dts
