// SPDX-License-Identifier: Apache-2.0
// torch's dtypes and the core's types of pixel values. Thread-safe.
#pragma once

#include <torch/headeronly/core/ScalarType.h>

#include "base/error.h"
#include "image/fused_normalize.h"

namespace dts::ops {

inline torch::headeronly::ScalarType scalar_type_of(PixelType type) {
  using torch::headeronly::ScalarType;
  switch (type) {
    case PixelType::kUint8:
      return ScalarType::Byte;
    case PixelType::kFloat16:
      return ScalarType::Half;
    case PixelType::kBfloat16:
      return ScalarType::BFloat16;
    case PixelType::kFloat32:
      break;
  }
  return ScalarType::Float;
}

// InvalidArgument: a dtype that pixels don't have.
inline PixelType pixel_type_of(torch::headeronly::ScalarType dtype) {
  for (const PixelType type :
       {PixelType::kUint8, PixelType::kFloat32, PixelType::kFloat16, PixelType::kBfloat16}) {
    if (scalar_type_of(type) == dtype) return type;
  }
  throw InvalidArgument("dtype is not torch.uint8, float32, float16 or bfloat16");
}

}  // namespace dts::ops
