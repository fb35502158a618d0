// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_erasing.h"

#include <cstring>
#include <optional>

#include "image/half.h"

namespace dts {
namespace {

template <class Value, class Convert>
void store_normals(const NormalStream& normals, const Box& box, const NormalizeParams& params,
                   std::int64_t height, std::int64_t width, Convert convert, void* out) {
  const bool is_planes = params.format == MemoryFormat::kChannelsFirst;
  auto* const values = static_cast<Value*>(out);
  std::array<float, 4> four = {};
  std::uint64_t number = 0;  // in CHW order of the box, whatever the memory's
  for (std::int64_t c = 0; c < params.channels; ++c) {
    for (std::int64_t y = box.top; y < box.top + box.height; ++y) {
      for (std::int64_t x = box.left; x < box.left + box.width; ++x, ++number) {
        if (number % 4 == 0) four = normals.four(number / 4);
        const std::int64_t at =
            is_planes ? (c * height + y) * width + x : (y * width + x) * params.channels + c;
        values[at] = convert(four[number % 4]);
      }
    }
  }
}

}  // namespace

Box choose_erased_box(const Erasing& erasing, const ChoiceKey& key, std::int64_t height,
                      std::int64_t width) {
  return choose_erasing(key, width, height, erasing.p, erasing.scale[0], erasing.scale[1],
                        erasing.ratio[0], erasing.ratio[1])
      .value_or(Box{});
}

void erase_randomly(const Erasing& erasing, const FusedNormalize& normalize, const ChoiceKey& key,
                    std::int64_t height, std::int64_t width, void* out) {
  const Box box = choose_erased_box(erasing, key, height, width);
  if (box.height == 0) return;
  if (!erasing.random_values) {
    normalize.fill(box, height, width, erasing.values, out);
    return;
  }
  const NormalizeParams& params = normalize.params();
  const NormalStream normals(key);
  switch (params.type) {
    case PixelType::kFloat16:
      store_normals<std::uint16_t>(normals, box, params, height, width, float16_bits, out);
      return;
    case PixelType::kBfloat16:
      store_normals<std::uint16_t>(normals, box, params, height, width, bfloat16_bits, out);
      return;
    case PixelType::kFloat32:
      store_normals<float>(normals, box, params, height, width, [](float v) { return v; }, out);
      return;
    case PixelType::kUint8:
      return;  // plans have no normals for bytes
  }
}

}  // namespace dts
