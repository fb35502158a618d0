// SPDX-License-Identifier: Apache-2.0
// The blur's loops in plain C++, in pieces of a fixed size that compilers turn into vectors.
#include <algorithm>
#include <array>

#include "image/blur_kernels.h"

namespace dts {
namespace {

constexpr std::int64_t kPiece = 64;
using Piece = std::array<float, kPiece>;

void widen(const std::uint8_t* bytes, std::int64_t count, float* out) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = bytes[i];
}

// Calls `store(sums, at, size)` for each piece of the result.
template <class Store>
void for_pieces(const WeightedRows& job, Store store) {
  for (std::int64_t at = 0; at < job.count; at += kPiece) {
    Piece sums = {};
    const std::int64_t size = std::min(kPiece, job.count - at);
    for (std::int64_t r = 0; r < job.num_rows; ++r) {
      const float* const row = job.rows[r] + job.begin + at;
      const float weight = job.weights[r];
      if (size == kPiece) {
        for (std::size_t i = 0; i < kPiece; ++i) sums[i] += weight * row[i];
      } else {
        for (std::int64_t i = 0; i < size; ++i)
          sums[static_cast<std::size_t>(i)] += weight * row[i];
      }
    }
    store(sums, at, size);
  }
}

void sum(const WeightedRows& job, float* out) {
  for_pieces(job, [&](const Piece& sums, std::int64_t at, std::int64_t size) {
    std::copy(sums.begin(), sums.begin() + size, out + at);
  });
}

void sum_bytes(const WeightedRows& job, std::uint8_t* out) {
  // From this number on floats are whole: adding it rounds as the processor does, half to even.
  constexpr float kWhole = 12582912.0F;
  for_pieces(job, [&](const Piece& sums, std::int64_t at, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) {
      const float whole = (sums[static_cast<std::size_t>(i)] + kWhole) - kWhole;
      out[at + i] = static_cast<std::uint8_t>(std::min(whole, 255.0F));
    }
  });
}

}  // namespace

const BlurKernels& blur_kernels_generic() {
  static constexpr BlurKernels kernels = {.widen = widen, .sum = sum, .sum_bytes = sum_bytes};
  return kernels;
}

const BlurKernels& blur_kernels(SimdLevel level) {
  return level == SimdLevel::kGeneric ? blur_kernels_generic() : blur_kernels_avx2();
}

}  // namespace dts
