// SPDX-License-Identifier: Apache-2.0
// The same loop with shifts that take their count from any register, bit fields in one
// instruction, and wide stores of zeros.
#include "jpeg/entropy_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define DTS_ENTROPY_NAMESPACE entropy_avx2
#define DTS_ENTROPY_TARGET [[gnu::target("avx2,bmi,bmi2,movbe")]]

namespace dts::DTS_ENTROPY_NAMESPACE {

// `length` bits from bit `first` on.
template <unsigned first, unsigned length>
DTS_ENTROPY_TARGET [[gnu::always_inline]] inline unsigned field(std::uint64_t bits) {
  return static_cast<unsigned>(__bextr_u64(bits, first | length << 8));
}

DTS_ENTROPY_TARGET [[gnu::always_inline]] inline std::uint64_t low_bits(std::uint64_t bits,
                                                                        unsigned count) {
  return _bzhi_u64(bits, count);
}

}  // namespace dts::DTS_ENTROPY_NAMESPACE

#include "jpeg/entropy_loop.h"

namespace dts {

DTS_ENTROPY_TARGET std::int64_t decode_mcus_avx2(EntropyStream& stream, McuBlocks& blocks,
                                                 std::int64_t num_mcus, const std::uint8_t* limit) {
  return entropy_avx2::read_mcus<entropy_avx2::Keep::kAll>(stream, blocks, num_mcus, limit);
}

DTS_ENTROPY_TARGET std::int64_t decode_some_mcus_avx2(EntropyStream& stream, McuBlocks& blocks,
                                                      std::int64_t num_mcus,
                                                      const std::uint8_t* limit) {
  return entropy_avx2::read_mcus<entropy_avx2::Keep::kSome>(stream, blocks, num_mcus, limit);
}

DTS_ENTROPY_TARGET std::int64_t skip_mcus_avx2(EntropyStream& stream, McuBlocks& blocks,
                                               std::int64_t num_mcus, const std::uint8_t* limit) {
  return entropy_avx2::read_mcus<entropy_avx2::Keep::kNone>(stream, blocks, num_mcus, limit);
}

}  // namespace dts

#else

namespace dts {

std::int64_t decode_mcus_avx2(EntropyStream& stream, McuBlocks& blocks, std::int64_t num_mcus,
                              const std::uint8_t* limit) {
  return decode_mcus_generic(stream, blocks, num_mcus, limit);
}

std::int64_t decode_some_mcus_avx2(EntropyStream& stream, McuBlocks& blocks, std::int64_t num_mcus,
                                   const std::uint8_t* limit) {
  return decode_some_mcus_generic(stream, blocks, num_mcus, limit);
}

std::int64_t skip_mcus_avx2(EntropyStream& stream, McuBlocks& blocks, std::int64_t num_mcus,
                            const std::uint8_t* limit) {
  return skip_mcus_generic(stream, blocks, num_mcus, limit);
}

}  // namespace dts

#endif
