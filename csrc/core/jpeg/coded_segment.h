// SPDX-License-Identifier: Apache-2.0
// One restart segment of coded data, or all of it where there are no restart markers, read a few
// kilobytes ahead. Input: bytes of the caller, which must stay. Memory is kept from segment to
// segment. Whatever the bytes, nothing outside of them is read. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "image/scratch.h"
#include "image/simd.h"
#include "jpeg/entropy_kernels.h"

namespace dts {

class CodedSegment {
 public:
  explicit CodedSegment(SimdLevel level = best_simd_level())
      : is_simd_(level > SimdLevel::kGeneric) {}

  void open(ConstByteSpan coded);

  // The next MCUs; false when the codes are bad or the data ends before them.
  bool decode(McuBlocks& blocks, std::int64_t num_mcus) {
    return read(is_simd_ ? decode_mcus_avx2 : decode_mcus_generic, blocks, num_mcus);
  }
  // As far as each block's `kept` goes. The AC tables have skips.
  bool decode_some(McuBlocks& blocks, std::int64_t num_mcus) {
    return read(is_simd_ ? decode_some_mcus_avx2 : decode_some_mcus_generic, blocks, num_mcus);
  }
  bool skip(McuBlocks& blocks, std::int64_t num_mcus) {
    return read(is_simd_ ? skip_mcus_avx2 : skip_mcus_generic, blocks, num_mcus);
  }

  // After the last MCU: less than a byte is left.
  bool is_used_up() const;

  std::size_t held_bytes() const { return buffer_.bytes(); }
  void release() { buffer_.release(); }

 private:
  bool read(ReadMcus kernel, McuBlocks& blocks, std::int64_t num_mcus);
  bool read_ahead();

  bool is_simd_;
  Scratch buffer_;
  EntropyStream stream_;
  const std::uint8_t* source_ = nullptr;  // what was not copied to the buffer yet
  const std::uint8_t* source_end_ = nullptr;
  const std::uint8_t* end_ = nullptr;    // of what is in the buffer
  const std::uint8_t* limit_ = nullptr;  // no MCU may begin behind it
};

}  // namespace dts
