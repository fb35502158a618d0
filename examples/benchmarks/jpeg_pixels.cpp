// SPDX-License-Identifier: Apache-2.0
// What it costs to make pixels of coefficients: ours, for a box in the middle of each file,
// beside libjpeg-turbo's, which is its whole decoding less its reading of the coefficients. CPU
// time of one thread, of each file the best of several tries.
//
//   g++ -std=c++20 -O3 -ffp-contract=off -Icsrc/core examples/benchmarks/jpeg_pixels.cpp
//     csrc/core/{base,image,jpeg}/*.cpp -ljpeg -lz -pthread -o /tmp/jpeg_pixels
//   /tmp/jpeg_pixels 300 300 photos/*.jpg
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "image/scratch.h"
#include "jpeg/entropy_decoder.h"
#include "jpeg/frame_header.h"
#include "jpeg/pixel_rows.h"

// After what declares FILE and size_t.
#include <jpeglib.h>

namespace {

constexpr int kTries = 15;

double cpu_ns() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

template <class Work>
double best_ns(const Work& work) {
  double best = 1e18;
  for (int i = 0; i < kTries; ++i) {
    const double start = cpu_ns();
    work();
    best = std::min(best, cpu_ns() - start);
  }
  return best;
}

// One row of MCUs in memory of its own.
struct Row {
  dts::Scratch blocks[dts::kMaxComponents];
  std::vector<std::uint8_t> ends[dts::kMaxComponents];
  dts::CoefficientRow row;
};

struct Sums {
  double ours_ns = 0, idct_ns = 0, box_pixels = 0, blocks = 0;
  double libjpeg_ns = 0, pixels = 0;
  int num_files = 0;
};

bool add_ours(dts::ConstByteSpan data, dts::Box box, Sums* sums) {
  dts::FrameHeader header;
  dts::EntropyDecoder decoder;
  if (!dts::read_frame_header(data, &header) || !decoder.open(data, header)) return false;
  const dts::JpegGeometry& geometry = header.geometry;
  if (geometry.num_components != 3 || !dts::PixelRows::can_decode(geometry)) return false;
  box.height = std::min(box.height, geometry.height);
  box.width = std::min(box.width, geometry.width);
  box.top = (geometry.height - box.height) / 2;
  box.left = (geometry.width - box.width) / 2;
  const dts::McuRange range = dts::PixelRows::needed_mcus(geometry, box);
  dts::QuantTables tables = {};
  for (std::size_t c = 0; c < 3; ++c) tables[c] = header.quantization[c].data();
  std::vector<Row> rows(static_cast<std::size_t>(range.bottom - range.top));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      dts::CoefficientPlane& plane = rows[i].row.planes[c];
      plane.num_rows = geometry.vertical[c];
      plane.num_columns = (range.right - range.left) * geometry.horizontal[c];
      const auto count = static_cast<std::size_t>(plane.num_columns * plane.num_rows);
      plane.blocks = reinterpret_cast<std::int16_t*>(rows[i].blocks[c].get(128 * count));
      rows[i].ends[c].resize(count);
      plane.ends = rows[i].ends[c].data();
      sums->blocks += static_cast<double>(count);
    }
    const auto y = range.top + static_cast<std::int64_t>(i);
    if (!decoder.read(y, range.left, range.right, rows[i].row)) return false;
  }

  dts::PixelRows pixels;
  sums->ours_ns += best_ns([&] {
    pixels.begin(geometry, tables, box);
    for (const Row& row : rows) pixels.add_row(row.row);
  });
  const dts::IdctKernel idct = dts::idct_kernel(dts::best_simd_level());
  std::vector<std::uint8_t> samples(8 * 65536);
  sums->idct_ns += best_ns([&] {
    for (const Row& row : rows) {
      for (std::size_t c = 0; c < 3; ++c) {
        const dts::CoefficientPlane& plane = row.row.planes[c];
        for (int i = 0; i < plane.num_rows; ++i) {
          idct({.blocks = plane.blocks + 64 * i * plane.num_columns,
                .ends = plane.ends + i * plane.num_columns,
                .num_blocks = plane.num_columns,
                .table = tables[c],
                .out = samples.data(),
                .stride = 8 * plane.num_columns + 64});
        }
      }
    }
  });
  sums->box_pixels += static_cast<double>(box.height * box.width);
  sums->pixels += static_cast<double>(geometry.height * geometry.width);
  return true;
}

void read_whole(dts::ConstByteSpan data, bool as_pixels) {
  jpeg_decompress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&codec);
  jpeg_mem_src(&codec, reinterpret_cast<const unsigned char*>(data.data()), data.size());
  jpeg_read_header(&codec, TRUE);
  if (as_pixels) {
    jpeg_start_decompress(&codec);
    std::vector<JSAMPLE> row(3 * std::size_t{codec.output_width});
    JSAMPROW line = row.data();
    while (codec.output_scanline < codec.output_height) jpeg_read_scanlines(&codec, &line, 1);
  } else {
    jpeg_read_coefficients(&codec);
  }
  jpeg_finish_decompress(&codec);
  jpeg_destroy_decompress(&codec);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: jpeg_pixels WIDTH HEIGHT FILE...\n");
    return 2;
  }
  const dts::Box box = {0, 0, std::atoll(argv[2]), std::atoll(argv[1])};
  Sums sums;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
    const dts::ConstByteSpan data(reinterpret_cast<const std::byte*>(text.data()), text.size());
    if (!add_ours(data, box, &sums)) continue;
    sums.libjpeg_ns +=
        best_ns([&] { read_whole(data, true); }) - best_ns([&] { read_whole(data, false); });
    ++sums.num_files;
  }
  std::printf("%d files, %.0f pixels of a box, %.0f blocks\n", sums.num_files,
              sums.box_pixels / sums.num_files, sums.blocks / sums.num_files);
  std::printf("ours     %.3f ns a pixel, %.4f ms a box\n", sums.ours_ns / sums.box_pixels,
              1e-6 * sums.ours_ns / sums.num_files);
  std::printf("  of it  %.3f ns a pixel inverse transform, %.1f ns a block\n",
              sums.idct_ns / sums.box_pixels, sums.idct_ns / sums.blocks);
  std::printf("libjpeg  %.3f ns a pixel of the whole picture\n", sums.libjpeg_ns / sums.pixels);
  return 0;
}
