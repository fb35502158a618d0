// SPDX-License-Identifier: Apache-2.0
#include "cuda/fused_normalize.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define DTS_UNROLL _Pragma("unroll")
#include "cuda/normalize_kernel.h"

namespace dts::cuda {
namespace {

template <class T>
void launch(const NormalizeJob& job, bool is_planes, unsigned blocks, cudaStream_t stream) {
  if (job.channels == 1) {
    normalize_tiles<T, 1, 1, true><<<blocks, kThreads, 0, stream>>>(job);
  } else if (is_planes) {
    normalize_tiles<T, 3, 3, true><<<blocks, kThreads, 0, stream>>>(job);
  } else if (job.out_channels == 3) {
    normalize_tiles<T, 3, 3, false><<<blocks, kThreads, 0, stream>>>(job);
  } else {
    normalize_tiles<T, 3, 4, false><<<blocks, kThreads, 0, stream>>>(job);
  }
}

}  // namespace

cudaError_t launch_fused_normalize(NormalizeJob job, PixelType type, MemoryFormat format,
                                   cudaStream_t stream) {
  if (job.count == 0 || job.height == 0 || job.width == 0) return cudaSuccess;
  cut_tiles(job);
  const std::int64_t blocks = num_tiles(job);
  if (blocks > 0x7FFFFFFF) return cudaErrorInvalidConfiguration;
  const bool is_planes = format == MemoryFormat::kChannelsFirst;
  const auto grid = static_cast<unsigned>(blocks);
  switch (type) {
    case PixelType::kUint8:
      launch<std::uint8_t>(job, is_planes, grid, stream);
      break;
    case PixelType::kFloat16:
      launch<__half>(job, is_planes, grid, stream);
      break;
    case PixelType::kBfloat16:
      launch<__nv_bfloat16>(job, is_planes, grid, stream);
      break;
    case PixelType::kFloat32:
      launch<float>(job, is_planes, grid, stream);
      break;
  }
  return cudaGetLastError();
}

}  // namespace dts::cuda
