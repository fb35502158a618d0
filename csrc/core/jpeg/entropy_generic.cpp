// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#define DTS_ENTROPY_NAMESPACE entropy_generic
#define DTS_ENTROPY_TARGET

namespace dts::DTS_ENTROPY_NAMESPACE {

// `length` bits from bit `first` on.
template <unsigned first, unsigned length>
inline unsigned field(std::uint64_t bits) {
  return static_cast<unsigned>(bits >> first) & ((1u << length) - 1);
}

inline std::uint64_t low_bits(std::uint64_t bits, unsigned count) {
  return bits & ((std::uint64_t{1} << count) - 1);
}

}  // namespace dts::DTS_ENTROPY_NAMESPACE

#include "jpeg/entropy_loop.h"

namespace dts {

std::int64_t decode_mcus_generic(EntropyStream& stream, McuBlocks& blocks, std::int64_t num_mcus,
                                 const std::uint8_t* limit) {
  return entropy_generic::read_mcus<entropy_generic::Keep::kAll>(stream, blocks, num_mcus, limit);
}

std::int64_t decode_some_mcus_generic(EntropyStream& stream, McuBlocks& blocks,
                                      std::int64_t num_mcus, const std::uint8_t* limit) {
  return entropy_generic::read_mcus<entropy_generic::Keep::kSome>(stream, blocks, num_mcus, limit);
}

std::int64_t skip_mcus_generic(EntropyStream& stream, McuBlocks& blocks, std::int64_t num_mcus,
                               const std::uint8_t* limit) {
  return entropy_generic::read_mcus<entropy_generic::Keep::kNone>(stream, blocks, num_mcus, limit);
}

}  // namespace dts
