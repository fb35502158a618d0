// SPDX-License-Identifier: Apache-2.0
// The fused tail's kernel. One block for each tile: some rows of an image, or a piece of a wide
// row. Its bytes are contiguous, also those of a flipped row's mirror image, and are read in
// 16-byte words into shared memory; its values are contiguous in each plane (or as pixels)
// and are written in 16-byte words. In between a thread makes the 16 bytes it writes.
//
// The CUDA headers come before this one, and DTS_UNROLL, which has the next loop unrolled. A test
// runs it on the CPU, with words of its own for theirs: every thread of a block twice, since the
// shared memory is full behind the first time.
#pragma once

#include <cstdint>
#include <cstring>

#include "cuda/normalize_job.h"

namespace dts::cuda {

inline constexpr int kThreads = 256;
inline constexpr int kWord = 16;

template <class T>
struct Output;
template <>
struct Output<float> {
  static __device__ float of(float value) { return value; }
};
template <>
struct Output<__half> {
  static __device__ __half of(float value) { return __float2half_rn(value); }
};
template <>
struct Output<__nv_bfloat16> {
  static __device__ __nv_bfloat16 of(float value) { return __float2bfloat16_rn(value); }
};
template <>
struct Output<std::uint8_t> {
  static __device__ std::uint8_t of(float value) { return static_cast<std::uint8_t>(value); }
};

// Values in the 16 bytes that a thread writes at once.
template <class T>
constexpr int kWordValues = kWord / static_cast<int>(sizeof(T));

// What a thread needs to know of its tile.
struct Tile {
  const std::uint8_t* bytes;  // in shared memory
  int top, left;              // in the image that is written
  int width;                  // pixels of a row of the tile
  int pixels;
  bool flip;
  bool has_box;
  int box_top, box_left, box_height, box_width;
};

// float32 steps, each rounded, as on the CPU: no sum is contracted with a product.
inline __device__ float formula_value(const float* constants, std::uint8_t byte) {
  const float x = static_cast<float>(byte);
  const float t = __fmaf_rn(x, constants[kScaleHigh], __fmul_rn(x, constants[kScaleLow]));
  const float u = __fsub_rn(t, constants[kMean]);
  return __fmaf_rn(u, constants[kFactorHigh], __fmul_rn(u, constants[kFactorLow]));
}

// Goes through the pixels of a tile in the order in which they are written.
template <int kChannels>
class Cursor {
 public:
  __device__ Cursor(const Tile& tile, int pixel)
      : tile_(tile), y_(pixel / tile.width), x_(pixel - y_ * tile.width) {
    const int column = tile.flip ? tile.width - 1 - x_ : x_;
    bytes_ = tile.bytes + (y_ * tile.width + column) * kChannels;
    step_ = tile.flip ? -kChannels : kChannels;
    // Behind the last pixel of a row comes the next row's first.
    jump_ = tile.flip ? 2 * tile.width * kChannels : 0;
  }
  __device__ void next() {
    bytes_ += step_;
    if (++x_ < tile_.width) return;
    x_ = 0;
    ++y_;
    bytes_ += jump_;
  }
  __device__ std::uint8_t byte(int channel) const { return bytes_[channel]; }
  __device__ bool is_erased() const {
    if (!tile_.has_box) return false;
    // Below 0 is far above every size as an unsigned number.
    return static_cast<unsigned>(tile_.top + y_ - tile_.box_top) <
               static_cast<unsigned>(tile_.box_height) &&
           static_cast<unsigned>(tile_.left + x_ - tile_.box_left) <
               static_cast<unsigned>(tile_.box_width);
  }

 private:
  const Tile& tile_;
  int y_, x_;
  const std::uint8_t* bytes_;
  int step_, jump_;
};

// How many values come before the next multiple of 16 bytes; all, if they end sooner.
template <class T>
__device__ int num_before_word(const T* to, int count) {
  const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % kWord);
  const int before = past == 0 ? 0 : (kWord - past) / static_cast<int>(sizeof(T));
  return before < count ? before : count;
}

// A run of `count` values, of which `make(first, n, values)` gives n.
template <class T, class Make>
__device__ void write_run(T* to, int count, Make make) {
  constexpr int kValues = kWordValues<T>;
  const int head = num_before_word(to, count);
  const int words = (count - head) / kValues;
  const int tail = head + words * kValues;
  for (int i = static_cast<int>(threadIdx.x); i < words; i += kThreads) {
    alignas(kWord) T values[kValues];
    make(head + i * kValues, kValues, values);
    uint4 word;
    memcpy(&word, values, kWord);
    *reinterpret_cast<uint4*>(to + head + i * kValues) = word;
  }
  const int singles = head + count - tail;
  for (int i = static_cast<int>(threadIdx.x); i < singles; i += kThreads) {
    const int at = i < head ? i : tail + i - head;
    make(at, 1, to + at);
  }
}

// Plane by plane: what belongs to the channel is the same for all threads.
template <class T, int kChannels>
__device__ void write_planes(const NormalizeJob& job, const float (*table)[256], const Tile& tile,
                             T* image) {
  const auto plane = static_cast<std::int64_t>(job.height) * job.width;
  T* to = image + static_cast<std::int64_t>(tile.top) * job.width + tile.left;
  DTS_UNROLL
  for (int c = 0; c < kChannels; ++c, to += plane) {
    const T erased = Output<T>::of(job.erase_values[c]);
    write_run(to, tile.pixels, [&](int first, int count, T* values) {
      Cursor<kChannels> cursor(tile, first);
      DTS_UNROLL
      for (int i = 0; i < kWordValues<T>; ++i, cursor.next()) {
        if (i >= count) break;
        const std::uint8_t byte = cursor.byte(c);
        values[i] = Output<T>::of(job.uses_formula ? formula_value(job.constants[c], byte)
                                                   : table[c][byte]);
        if (cursor.is_erased()) values[i] = erased;
      }
    });
  }
  for (int c = kChannels; c < job.out_channels; ++c, to += plane) {
    write_run(to, tile.pixels, [](int, int count, T* values) {
      DTS_UNROLL
      for (int i = 0; i < kWordValues<T>; ++i) {
        if (i < count) values[i] = Output<T>::of(0.0f);
      }
    });
  }
}

// Channels take turns: each thread looks values up.
template <class T, int kChannels, int kOutChannels>
__device__ void write_pixels(const NormalizeJob& job, const float (*table)[256], const Tile& tile,
                             T* image) {
  T* const to =
      image + (static_cast<std::int64_t>(tile.top) * job.width + tile.left) * kOutChannels;
  write_run(to, tile.pixels * kOutChannels, [&](int first, int count, T* values) {
    const int pixel = first / kOutChannels;
    int c = first - pixel * kOutChannels;
    Cursor<kChannels> cursor(tile, pixel);
    DTS_UNROLL
    for (int i = 0; i < kWordValues<T>; ++i) {
      if (i >= count) break;
      float value = 0.0f;
      if (c < kChannels) {
        value = cursor.is_erased() ? job.erase_values[c] : table[c][cursor.byte(c)];
      }
      values[i] = Output<T>::of(value);
      if (++c == kOutChannels) {
        c = 0;
        cursor.next();
      }
    }
  });
}

// `count` bytes to shared memory, so that byte i lies at `room + from % 16 + i`. The words that
// hold the first and the last byte may hold others, of the same allocation: memory is
// handed out in multiples of 16 bytes and more.
inline __device__ const std::uint8_t* load_bytes(const std::uint8_t* from, int count, uint4* room) {
  const auto past = static_cast<int>(reinterpret_cast<std::uintptr_t>(from) % kWord);
  const auto* words = reinterpret_cast<const uint4*>(from - past);
  const int num_words = (past + count + kWord - 1) / kWord;
  for (int i = static_cast<int>(threadIdx.x); i < num_words; i += kThreads) {
    room[i] = __ldg(words + i);
  }
  return reinterpret_cast<const std::uint8_t*>(room) + past;
}

template <class T, int kChannels, int kOutChannels, bool kPlanes>
__global__ void __launch_bounds__(kThreads)
    normalize_tiles(const __grid_constant__ NormalizeJob job) {
  __shared__ uint4 room[kTileBytes / kWord + 1];
  __shared__ float table[kMaxChannels][256];
  const int tiles = job.tiles_down * job.tiles_across;
  const std::int64_t image = blockIdx.x / tiles;
  const int number = static_cast<int>(blockIdx.x - image * tiles);
  Tile tile;
  tile.top = number / job.tiles_across * job.tile_rows;
  tile.left = number % job.tiles_across * job.tile_columns;
  tile.width = min(job.tile_columns, job.width - tile.left);
  tile.pixels = min(job.tile_rows, job.height - tile.top) * tile.width;
  tile.flip = job.flips != nullptr && job.flips[image];
  tile.has_box = false;
  if (job.boxes != nullptr) {
    const std::int64_t* const box = job.boxes + 4 * image;
    tile.box_top = static_cast<int>(box[0]);
    tile.box_left = static_cast<int>(box[1]);
    tile.box_height = static_cast<int>(box[2]);
    tile.box_width = static_cast<int>(box[3]);
    tile.has_box = tile.box_height > 0 && tile.box_width > 0;
  }
  const auto pixels = static_cast<std::int64_t>(job.height) * job.width;
  const int from_left = tile.flip ? job.width - tile.left - tile.width : tile.left;
  const std::int64_t first =
      image * pixels + static_cast<std::int64_t>(tile.top) * job.width + from_left;
  tile.bytes = load_bytes(job.images + first * kChannels, tile.pixels * kChannels, room);
  if (!kPlanes || !job.uses_formula) {
    for (int i = static_cast<int>(threadIdx.x); i < kChannels * 256; i += kThreads) {
      const int c = i / 256;
      // Made anew where it can be: threads that read different parameters wait for each other.
      table[c][i % 256] =
          job.uses_formula ? formula_value(job.constants[c], i % 256) : job.table[c][i % 256];
    }
  }
  __syncthreads();
  T* const out = static_cast<T*>(job.out) + image * pixels * job.out_channels;
  if constexpr (kPlanes) {
    write_planes<T, kChannels>(job, table, tile, out);
  } else {
    write_pixels<T, kChannels, kOutChannels>(job, table, tile, out);
  }
}

}  // namespace dts::cuda
