// SPDX-License-Identifier: Apache-2.0
// The fused tail on a GPU: uint8 NHWC in, float16, bfloat16, float32 or uint8 out, NCHW or
// NHWC, with flips and boxes for each image; every byte is read once and every value written
// once. The caller owns all memory, which must stay until the stream has come by.
// Thread-safe; launches only, waits for nothing.
#pragma once

#include <cuda_runtime_api.h>

#include "cuda/normalize_job.h"
#include "image/fused_normalize.h"

namespace dts::cuda {

// `job` but for its tiles. Queues the work on the current device. Returns the launch's error.
cudaError_t launch_fused_normalize(NormalizeJob job, PixelType type, MemoryFormat format,
                                   cudaStream_t stream);

}  // namespace dts::cuda
