// SPDX-License-Identifier: Apache-2.0
#include "jpeg/encoder.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace dts::testing {

std::vector<Kind> every_kind() {
  const std::vector<std::pair<std::string, Sampling>> samplings = {
      {"444", {{1, 1}, {1, 1}, {1, 1}}},        {"422", {{2, 1}, {1, 1}, {1, 1}}},
      {"420", {{2, 2}, {1, 1}, {1, 1}}},        {"440", {{1, 2}, {1, 1}, {1, 1}}},
      {"411", {{4, 1}, {1, 1}, {1, 1}}},        {"1x4", {{1, 4}, {1, 1}, {1, 1}}},
      {"2x4", {{2, 4}, {1, 1}, {1, 1}}},        {"410", {{4, 2}, {1, 1}, {1, 1}}},
      {"uneven", {{2, 2}, {2, 1}, {1, 2}}},     {"1x4 to 1x2", {{1, 4}, {1, 2}, {1, 1}}},
      {"444 as 2x1", {{2, 1}, {2, 1}, {2, 1}}}, {"3x1", {{3, 1}, {1, 1}, {1, 1}}},
      {"luma small", {{1, 1}, {2, 2}, {2, 2}}}};
  std::vector<Kind> kinds;
  for (const auto& [name, sampling] : samplings) {
    Kind kind;
    kind.name = name;
    kind.sampling = sampling;
    kinds.push_back(kind);
    kind.name = name + " progressive";
    kind.progressive = true;
    kinds.push_back(kind);
    kind.name = name + " low frequencies";
    kind.only_low = true;
    kinds.push_back(kind);
    kind.progressive = kind.only_low = false;
    kind.name = name + " restarts";
    kind.restart_interval = 3;
    kinds.push_back(kind);
    kind.restart_interval = 0;
    kind.name = name + " scan each";
    kind.one_scan_each = true;
    kinds.push_back(kind);
#ifdef C_ARITH_CODING_SUPPORTED
    kind.one_scan_each = false;
    kind.name = name + " arithmetic";
    kind.arithmetic = true;
    kinds.push_back(kind);
    kind.name = name + " arithmetic progressive";
    kind.progressive = true;
    kinds.push_back(kind);
#endif
  }
  for (const Sampling& sampling : {Sampling{{1, 1}}, Sampling{{2, 2}}, Sampling{{1, 2}}}) {
    Kind kind;
    kind.name = "gray " + std::to_string(sampling[0][0]) + "x" + std::to_string(sampling[0][1]);
    kind.sampling = sampling;
    kind.input = kind.stored = JCS_GRAYSCALE;
    kinds.push_back(kind);
    kind.name += " progressive";
    kind.progressive = true;
    kinds.push_back(kind);
  }
  kinds.push_back({.name = "RGB", .stored = JCS_RGB});
  kinds.push_back({.name = "RGB 420", .sampling = {{2, 2}, {1, 1}, {1, 1}}, .stored = JCS_RGB});
  for (const J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    Kind kind;
    kind.name = stored == JCS_CMYK ? "CMYK" : "YCCK";
    kind.sampling = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
    kind.input = JCS_CMYK;
    kind.stored = stored;
    kinds.push_back(kind);
    kind.name += " 420";
    kind.sampling = {{2, 2}, {1, 1}, {1, 1}, {2, 2}};
    kinds.push_back(kind);
    kind.name += " progressive";
    kind.progressive = true;
    kinds.push_back(kind);
  }
  return kinds;
}

unsigned next_random(std::uint64_t& state, unsigned below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return static_cast<unsigned>(state >> 33) % below;
}

// Gradients, edges and noise of the picture numbered `seed`.
std::vector<std::uint8_t> make_pixels(int width, int height, int channels, unsigned seed) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(width) * static_cast<std::size_t>(height * channels));
  std::uint64_t state = seed;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const int slope = (x * (3 + c) + y * (5 - c)) % 256;
        const int edge = ((x / 7 + y / 5 + c) % 3) * 60;
        const int noise = static_cast<int>(next_random(state, 64));
        pixels.push_back(static_cast<std::uint8_t>((slope + edge + noise) % 256));
      }
    }
  }
  return pixels;
}

Bytes encode(const Kind& kind, int width, int height, unsigned seed) {
  const int channels = static_cast<int>(kind.sampling.size());
  std::vector<std::uint8_t> pixels = make_pixels(width, height, channels, seed);
  jpeg_compress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &data, &size);
  codec.image_width = static_cast<JDIMENSION>(width);
  codec.image_height = static_cast<JDIMENSION>(height);
  codec.input_components = channels;
  codec.in_color_space = kind.input;
  jpeg_set_defaults(&codec);
  jpeg_set_colorspace(&codec, kind.stored);
  jpeg_set_quality(&codec, kind.quality, TRUE);
  for (int c = 0; c < channels; ++c) {
    codec.comp_info[c].h_samp_factor = kind.sampling[static_cast<std::size_t>(c)][0];
    codec.comp_info[c].v_samp_factor = kind.sampling[static_cast<std::size_t>(c)][1];
  }
  codec.restart_interval = static_cast<unsigned>(kind.restart_interval);
  codec.arith_code = kind.arithmetic ? TRUE : FALSE;
  std::vector<jpeg_scan_info> scans;
  if (kind.progressive) jpeg_simple_progression(&codec);
  if (kind.unfinished) codec.num_scans -= 3;
  if (kind.one_scan_each) {
    for (int c = 0; c < channels; ++c) scans.push_back({1, {c, 0, 0, 0}, 0, 63, 0, 0});
  }
  if (kind.only_low) {
    for (int c = 0; c < channels; ++c) scans.push_back({1, {c, 0, 0, 0}, 0, 0, 0, 0});
    for (int c = 0; c < channels; ++c) scans.push_back({1, {c, 0, 0, 0}, 1, 9, 0, 0});
  }
  if (!scans.empty()) {
    codec.scan_info = scans.data();
    codec.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&codec, TRUE);
  for (int y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + static_cast<std::ptrdiff_t>(y) * width * channels;
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  jpeg_destroy_compress(&codec);
  const auto* first = reinterpret_cast<const std::byte*>(data);
  Bytes bytes(first, first + size);
  std::free(data);
  return bytes;
}

Decoded decode_whole(const Bytes& data, bool as_gray, int halvings) {
  jpeg_decompress_struct codec;
  jpeg_error_mgr errors;
  codec.err = jpeg_std_error(&errors);
  errors.output_message = [](j_common_ptr) {};
  jpeg_create_decompress(&codec);
  jpeg_mem_src(&codec, reinterpret_cast<const unsigned char*>(data.data()), data.size());
  jpeg_read_header(&codec, TRUE);
  const bool is_cmyk = codec.num_components == 4;
  codec.out_color_space = is_cmyk ? JCS_CMYK : as_gray ? JCS_GRAYSCALE : JCS_RGB;
  codec.scale_denom = codec.scale_num << halvings;
  codec.do_fancy_upsampling = halvings == 0 ? TRUE : FALSE;
  jpeg_start_decompress(&codec);
  Decoded whole;
  whole.width = codec.output_width;
  whole.height = codec.output_height;
  whole.channels = as_gray ? 1 : 3;
  std::vector<std::uint8_t> row(codec.output_width *
                                static_cast<unsigned>(codec.output_components));
  while (codec.output_scanline < codec.output_height) {
    JSAMPROW rows[1] = {row.data()};
    jpeg_read_scanlines(&codec, rows, 1);
    if (!is_cmyk) {
      whole.pixels.insert(whole.pixels.end(), row.begin(), row.end());
      continue;
    }
    for (std::size_t x = 0; x < codec.output_width; ++x) {
      const int not_black = row[4 * x + 3];
      for (std::size_t c = 0; c < 3; ++c) {
        const int product = (255 - row[4 * x + c]) * not_black + 128;
        const int taken = ((product >> 8) + product) >> 8;
        whole.pixels.push_back(static_cast<std::uint8_t>(not_black - taken));
      }
    }
  }
  jpeg_finish_decompress(&codec);
  jpeg_destroy_decompress(&codec);
  return whole;
}

std::int64_t count_wrong(const ConstImageView& view, const Decoded& whole, const Box& box) {
  if (view.height != box.height || view.width != box.width || view.channels != whole.channels) {
    return -1;
  }
  std::int64_t num_wrong = 0;
  for (std::int64_t y = 0; y < box.height; ++y) {
    const auto at = ((box.top + y) * whole.width + box.left) * whole.channels;
    num_wrong += std::memcmp(view.row(y), whole.pixels.data() + at,
                             static_cast<std::size_t>(box.width * whole.channels)) != 0;
  }
  return num_wrong;
}

}  // namespace dts::testing
