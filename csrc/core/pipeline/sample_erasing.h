// SPDX-License-Identifier: Apache-2.0
// RandomErasing of one image of the batch, after normalization.
#pragma once

#include "image/fused_normalize.h"
#include "order/choices.h"
#include "pipeline/sample_plan.h"

namespace dts {

// The box that is erased; all 0: none. `key`: its op is the erasing's. Thread-safe.
Box choose_erased_box(const Erasing& erasing, const ChoiceKey& key, std::int64_t height,
                      std::int64_t width);

// `out`: the image that `normalize` wrote, height x width. `key`: its op is the erasing's.
// Nothing is allocated. Thread-safe for different `out`.
void erase_randomly(const Erasing& erasing, const FusedNormalize& normalize, const ChoiceKey& key,
                    std::int64_t height, std::int64_t width, void* out);

}  // namespace dts
