// SPDX-License-Identifier: Apache-2.0
// Tensors over memory that something else owns: each holds the owner, so that the memory stays
// until the last of them is gone.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>

#include "ops/tensors.h"

namespace dts::ops {

template <class Owner>
Tensor view_of(const std::shared_ptr<Owner>& owner, void* data,
               std::initializer_list<std::int64_t> size,
               std::initializer_list<std::int64_t> strides, ScalarType type) {
  return torch::stable::from_blob(
      data, {std::data(size), size.size()}, {std::data(strides), strides.size()},
      torch::stable::Device(torch::headeronly::DeviceType::CPU), type, [owner](void*) {});
}

}  // namespace dts::ops
