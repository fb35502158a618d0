// SPDX-License-Identifier: Apache-2.0
// Checked views of tensors and tensors from vectors: the only place where ops touch
// tensor properties. Views borrow; the tensor must outlive them.
#pragma once

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace dts::ops {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

inline void check_tensor(const Tensor& tensor, ScalarType dtype, const char* name,
                         const char* dtype_name) {
  if (!tensor.is_cpu()) throw InvalidArgument(std::string(name) + " must be a CPU tensor");
  if (tensor.scalar_type() != dtype) {
    throw InvalidArgument(std::string(name) + " must have dtype " + dtype_name);
  }
  if (!tensor.is_contiguous()) throw InvalidArgument(std::string(name) + " must be contiguous");
}

inline std::span<const std::int64_t> int64_view(const Tensor& tensor, const char* name) {
  check_tensor(tensor, ScalarType::Long, name, "torch.int64");
  return {static_cast<const std::int64_t*>(tensor.data_ptr()),
          static_cast<std::size_t>(tensor.numel())};
}

inline std::span<std::int64_t> mutable_int64_view(const Tensor& tensor, const char* name) {
  check_tensor(tensor, ScalarType::Long, name, "torch.int64");
  return {static_cast<std::int64_t*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

inline ByteSpan byte_view(const Tensor& tensor, const char* name) {
  check_tensor(tensor, ScalarType::Byte, name, "torch.uint8");
  return {static_cast<std::byte*>(tensor.data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

inline std::vector<std::byte> copy_bytes(const Tensor& tensor, const char* name) {
  const ConstByteSpan bytes = byte_view(tensor, name);
  return {bytes.begin(), bytes.end()};
}

// A sample's bytes in the arena. OutOfRange: not inside of it.
inline ConstByteSpan sample_bytes(ConstByteSpan arena, std::int64_t offset, std::int64_t size,
                                  std::size_t sample) {
  const auto arena_bytes = static_cast<std::int64_t>(arena.size());
  if (offset < 0 || size < 0 || offset > arena_bytes || size > arena_bytes - offset) {
    throw OutOfRange("sample " + std::to_string(sample) + " (offset " + std::to_string(offset) +
                     ", " + std::to_string(size) + " bytes) lies outside of the arena of " +
                     std::to_string(arena_bytes) + " bytes");
  }
  return arena.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// float32 of exactly three values, one by channel.
inline std::array<float, 3> three_floats(const Tensor& tensor, const char* name) {
  check_tensor(tensor, ScalarType::Float, name, "torch.float32");
  if (tensor.numel() != 3) {
    throw InvalidArgument(std::string(name) + " has " + std::to_string(tensor.numel()) +
                          " values, expected 3");
  }
  const auto* const values = static_cast<const float*>(tensor.data_ptr());
  return {values[0], values[1], values[2]};
}

inline Tensor new_int64(std::int64_t count) {
  const std::int64_t size[1] = {count};
  return torch::stable::empty({size, 1}, ScalarType::Long);
}

inline Tensor new_bytes(std::int64_t count) {
  const std::int64_t size[1] = {count};
  return torch::stable::empty({size, 1}, ScalarType::Byte);
}

// int64 tensor with the values of any integer range.
template <class Range>
Tensor int64_tensor(const Range& values) {
  Tensor result = new_int64(static_cast<std::int64_t>(std::size(values)));
  std::copy(std::begin(values), std::end(values), static_cast<std::int64_t*>(result.data_ptr()));
  return result;
}

inline Tensor byte_tensor(ConstByteSpan bytes) {
  Tensor result = new_bytes(static_cast<std::int64_t>(bytes.size()));
  std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(result.data_ptr()));
  return result;
}

inline void check_same_length(std::size_t a, const char* name_a, std::size_t b,
                              const char* name_b) {
  if (a != b) {
    throw InvalidArgument(std::string(name_a) + " has " + std::to_string(a) + " elements, " +
                          name_b + " has " + std::to_string(b));
  }
}

}  // namespace dts::ops
