// SPDX-License-Identifier: Apache-2.0
// The CUDA kernel of the fused tail, run on the CPU: where it reads and writes, and the bits
// of its values, beside FusedNormalize.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "image/cuda_words.h"
// Behind CUDA's words.
#include "cuda/normalize_kernel.h"
#include "image/normalize_values.h"
#include "image/pictures.h"

namespace dts {
namespace {

using cuda::NormalizeJob;
using testing::Random;

struct Case {
  std::int64_t count, height, width;
  std::int64_t channels = 3, out_channels = 3;
  NormalizeParams params = {};
  bool flips = false, boxes = false, by_table = false;
  std::size_t skew = 0;  // bytes between a 16-byte boundary and the images and the result
};

// Memory that begins `skew` bytes behind a boundary, with a guard at both ends.
class Room {
 public:
  Room(std::size_t bytes, std::size_t skew)
      : words_((bytes + skew) / 16 + 4), skew_(skew), bytes_(bytes) {
    std::fill_n(all(), words_.size() * 16, kGuard);
  }
  std::uint8_t* data() { return all() + 16 + skew_; }
  bool is_whole() {
    return std::all_of(all(), data(), is_guard) &&
           std::all_of(data() + bytes_, all() + words_.size() * 16, is_guard);
  }

 private:
  static constexpr std::uint8_t kGuard = 0xA5;
  static bool is_guard(std::uint8_t byte) { return byte == kGuard; }
  std::uint8_t* all() { return reinterpret_cast<std::uint8_t*>(words_.data()); }
  struct alignas(16) Word {
    std::uint8_t bytes[16];
  };
  std::vector<Word> words_;
  std::size_t skew_, bytes_;
};

template <class T>
void run_blocks(const NormalizeJob& job, bool is_planes) {
  auto* const kernel = job.channels == 1       ? &cuda::normalize_tiles<T, 1, 1, true>
                       : is_planes             ? &cuda::normalize_tiles<T, 3, 3, true>
                       : job.out_channels == 3 ? &cuda::normalize_tiles<T, 3, 3, false>
                                               : &cuda::normalize_tiles<T, 3, 4, false>;
  for (std::int64_t block = 0; block < cuda::num_tiles(job); ++block) {
    blockIdx.x = static_cast<unsigned>(block);
    for (int pass = 0; pass < 2; ++pass) {
      for (unsigned thread = 0; thread < cuda::kThreads; ++thread) {
        threadIdx.x = thread;
        kernel(job);
      }
    }
  }
}

void run_kernel(NormalizeJob job, const NormalizeParams& params) {
  cuda::cut_tiles(job);
  const bool is_planes = params.format == MemoryFormat::kChannelsFirst;
  switch (params.type) {
    case PixelType::kUint8:
      return run_blocks<std::uint8_t>(job, is_planes);
    case PixelType::kFloat16:
      return run_blocks<__half>(job, is_planes);
    case PixelType::kBfloat16:
      return run_blocks<__nv_bfloat16>(job, is_planes);
    case PixelType::kFloat32:
      return run_blocks<float>(job, is_planes);
  }
}

// Image `i` as FusedNormalize writes it, the channels that are added zero.
std::vector<std::uint8_t> expected_image(const Case& c, const std::uint8_t* pixels, bool flip,
                                         const std::int64_t* box, const std::vector<float>& fill) {
  const FusedNormalize normalize(c.params);
  const std::size_t size = pixel_bytes(c.params.type);
  const auto num_pixels = static_cast<std::size_t>(c.height * c.width);
  const auto channels = static_cast<std::size_t>(c.channels);
  const auto out_channels = static_cast<std::size_t>(c.out_channels);
  std::vector<std::uint8_t> values(num_pixels * channels * size);
  normalize.run({pixels, c.height, c.width, c.channels, c.width * c.channels}, flip, values.data());
  if (box != nullptr && box[2] > 0) {
    normalize.fill({box[0], box[1], box[2], box[3]}, c.height, c.width, fill, values.data());
  }
  std::vector<std::uint8_t> out(num_pixels * out_channels * size);
  const bool is_planes = c.params.format == MemoryFormat::kChannelsFirst;
  for (std::size_t pixel = 0; pixel < num_pixels; ++pixel) {
    for (std::size_t k = 0; k < channels; ++k) {
      const std::size_t from = is_planes ? k * num_pixels + pixel : pixel * channels + k;
      const std::size_t to = is_planes ? from : pixel * out_channels + k;
      std::memcpy(out.data() + to * size, values.data() + from * size, size);
    }
  }
  return out;
}

void set_values(const Case& c, const std::vector<float>& fill, NormalizeJob& job) {
  job.uses_formula = !c.by_table;
  for (std::int64_t k = 0; k < c.channels; ++k) {
    for (int byte = 0; byte < 256; ++byte) job.table[k][byte] = exact_value(c.params, k, byte);
    const NormalizeFormula formula = formula_of(c.params, k);
    if (!c.by_table) REQUIRE(formula_is_exact(c.params, k, formula));
    std::copy(std::begin(formula.constants), std::end(formula.constants), job.constants[k]);
    job.erase_values[k] = pick_value(fill, k, 0.0f);
  }
}

void check(const Case& c) {
  Random random(7);
  const auto in_bytes = static_cast<std::size_t>(c.height * c.width * c.channels);
  const auto count = static_cast<std::size_t>(c.count);
  const std::size_t out_bytes = in_bytes / static_cast<std::size_t>(c.channels) *
                                static_cast<std::size_t>(c.out_channels) *
                                pixel_bytes(c.params.type);
  Room images(count * in_bytes, c.skew);
  Room out(count * out_bytes, c.skew / 4 * 4);
  std::generate_n(images.data(), count * in_bytes,
                  [&] { return static_cast<std::uint8_t>(random()); });
  auto flips = std::make_unique<bool[]>(count);
  std::vector<std::int64_t> boxes;
  for (std::size_t i = 0; i < count; ++i) {
    flips[i] = i % 2 == 0;
    const bool has_box = i % 3 != 1;
    for (const std::int64_t side : {c.height / 3, c.width / 4, c.height / 2, c.width / 2}) {
      boxes.push_back(has_box ? side : 0);
    }
  }
  const std::vector<float> fill = {0.25f, -1.5f, 3.0f};
  const std::vector<float> values(fill.begin(), fill.begin() + c.channels);
  NormalizeJob job;
  job.images = images.data();
  job.flips = c.flips ? flips.get() : nullptr;
  job.boxes = c.boxes ? boxes.data() : nullptr;
  job.out = out.data();
  job.count = c.count;
  job.height = static_cast<int>(c.height);
  job.width = static_cast<int>(c.width);
  job.channels = static_cast<int>(c.channels);
  job.out_channels = static_cast<int>(c.out_channels);
  set_values(c, values, job);
  run_kernel(job, c.params);
  for (std::size_t i = 0; i < count; ++i) {
    const auto wanted = expected_image(c, images.data() + i * in_bytes, c.flips && flips[i],
                                       c.boxes ? boxes.data() + 4 * i : nullptr, values);
    CAPTURE(i);
    CHECK(std::memcmp(wanted.data(), out.data() + i * out_bytes, out_bytes) == 0);
  }
  CHECK(out.is_whole());
}

NormalizeParams params_of(PixelType type, MemoryFormat format, std::int64_t channels) {
  NormalizeParams params;
  params.type = type;
  params.format = format;
  params.channels = channels;
  if (type == PixelType::kUint8) return params;
  params.mean = {0.485f, 0.456f, 0.406f};
  params.std = {0.229f, 0.224f, 0.225f};
  params.mean.resize(static_cast<std::size_t>(channels));
  params.std.resize(static_cast<std::size_t>(channels));
  return params;
}

constexpr PixelType kTypes[] = {PixelType::kUint8, PixelType::kFloat32, PixelType::kFloat16,
                                PixelType::kBfloat16};
constexpr MemoryFormat kFormats[] = {MemoryFormat::kChannelsFirst, MemoryFormat::kChannelsLast};

TEST_CASE("the CUDA kernel writes what FusedNormalize writes") {
  for (const PixelType type : kTypes) {
    for (const MemoryFormat format : kFormats) {
      for (const std::int64_t channels : {1, 3}) {
        CAPTURE(static_cast<int>(type));
        CAPTURE(static_cast<int>(format));
        CAPTURE(channels);
        Case c = {.count = 3, .height = 7, .width = 9, .channels = channels};
        c.out_channels = channels;
        c.params = params_of(type, format, channels);
        for (const bool both : {false, true}) {
          c.flips = c.boxes = both;
          // uint8 values of boxes would be cut off by the conversion in both.
          if (type == PixelType::kUint8) c.boxes = false;
          c.by_table = type == PixelType::kUint8;
          check(c);
        }
        c.by_table = true;
        check(c);
      }
    }
  }
}

TEST_CASE("the CUDA kernel pads three channels to four") {
  for (const PixelType type : {PixelType::kFloat32, PixelType::kFloat16}) {
    for (const MemoryFormat format : kFormats) {
      Case c = {.count = 2, .height = 6, .width = 5, .out_channels = 4};
      c.params = params_of(type, format, 3);
      c.flips = c.boxes = true;
      check(c);
    }
  }
}

TEST_CASE("the CUDA kernel cuts images into tiles, and meets memory at any place") {
  for (const MemoryFormat format : kFormats) {
    // Several tiles of rows; rows wider than a tile, alone and flipped.
    for (const auto& [height, width] :
         {std::array<std::int64_t, 2>{70, 131}, {2, 4095}, {2, 4096}, {2, 4099}, {3, 9001}}) {
      for (const std::size_t skew : {0, 4, 9}) {
        CAPTURE(height);
        CAPTURE(width);
        CAPTURE(skew);
        Case c = {.count = 2, .height = height, .width = width};
        c.params = params_of(PixelType::kFloat16, format, 3);
        c.flips = c.boxes = true;
        c.skew = skew;
        check(c);
      }
    }
  }
}

TEST_CASE("tiles of the CUDA kernel hold whole rows, or pieces of a multiple of 16 pixels") {
  NormalizeJob job;
  job.count = 2;
  job.height = 224;
  job.width = 224;
  job.channels = 3;
  cuda::cut_tiles(job);
  CHECK(job.tile_columns == 224);
  CHECK(job.tile_rows == 18);
  CHECK(cuda::num_tiles(job) == 2 * 13);
  job.width = 5000;
  cuda::cut_tiles(job);
  CHECK(job.tile_columns % 16 == 0);
  CHECK(job.tile_columns * 3 <= cuda::kTileBytes);
  CHECK(job.tile_rows == 1);
  CHECK(job.tiles_across == 2);
}

}  // namespace
}  // namespace dts
