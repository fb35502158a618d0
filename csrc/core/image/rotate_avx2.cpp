// SPDX-License-Identifier: Apache-2.0
// Bilinear rotation of RGB for AVX2: the channels of a pixel side by side in doubles.
#include "image/rotate_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstring>

#define DTS_AVX2 [[gnu::target("avx2")]]
#define DTS_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace dts {
namespace {

// The pixel and the first byte behind it.
DTS_AVX2_INLINE __m128i load_pixel(const std::uint8_t* from) {
  std::int32_t bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
}

// left + (right - left) * along; the difference of bytes is exact.
DTS_AVX2_INLINE __m256d mix_row(const std::uint8_t* left, __m256d along) {
  const __m128i a = load_pixel(left);
  const __m128i b = load_pixel(left + 3);
  const __m256d distance = _mm256_cvtepi32_pd(_mm_sub_epi32(b, a));
  return _mm256_add_pd(_mm256_cvtepi32_pd(a), _mm256_mul_pd(distance, along));
}

DTS_AVX2 void bilinear_rgb(const ConstImageView& image, const Affine& affine, std::int64_t y,
                           const ImageView& out) {
  const __m128i last_bytes =
      _mm_setr_epi8(0, 4, 8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
  const double py = static_cast<double>(y) + 0.5;
  const double x_of_row = affine.xy * py, y_of_row = affine.yy * py;
  std::uint8_t* to = out.row(y);
  for (std::int64_t x = 0; x < out.width; ++x, to += 3) {
    const double px = static_cast<double>(x) + 0.5;
    Between place;
    if (!find_between(image, affine.xx * px + x_of_row + affine.x0,
                      affine.yx * px + y_of_row + affine.y0, &place)) {
      continue;
    }
    // A third pixel must follow, whose first byte is loaded.
    const bool is_inside = place.left >= 0 && place.left + 2 < image.width && place.top >= 0 &&
                           place.top + 1 < image.height;
    if (!is_inside) {
      mix_between<3>(image, place, to);
      continue;
    }
    const std::uint8_t* const from = image.row(place.top) + 3 * place.left;
    const __m256d along = _mm256_set1_pd(place.along);
    const __m256d a = mix_row(from, along);
    const __m256d b = mix_row(from + image.stride, along);
    const __m256d mixed =
        _mm256_add_pd(a, _mm256_mul_pd(_mm256_sub_pd(b, a), _mm256_set1_pd(place.down)));
    const std::int32_t bytes =
        _mm_cvtsi128_si32(_mm_shuffle_epi8(_mm256_cvttpd_epi32(mixed), last_bytes));
    std::memcpy(to, &bytes, 3);
  }
}

}  // namespace

const RotateKernels& rotate_kernels_avx2() {
  static const RotateKernels kernels = {.bilinear_rgb = bilinear_rgb,
                                        .bilinear_gray = rotate_kernels_generic().bilinear_gray};
  return kernels;
}

}  // namespace dts

#else

namespace dts {
const RotateKernels& rotate_kernels_avx2() { return rotate_kernels_generic(); }
}  // namespace dts

#endif
