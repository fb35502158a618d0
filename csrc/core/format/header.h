// SPDX-License-Identifier: Apache-2.0
// The first 144 bytes of a .dts file (docs/format.md section 1) and their checks.
//
//   0 magic ".DTS" | 4 version | 8 dataset_type | 16 is_training | 20 compress_level
//   24 val_set_prep | 28 num_classes | 32 layout | 36 width | 40 height | 44 channels
//   48 color_type | 52 num_samples | 56 num_volumes | 60 volume_id | 64 total_blocks
//   68 num_blocks | 72 total_bytes | 80 header_bytes | 84 block_bytes | 92 block_size
//   96 block_header_size | 100 pic_alignment | 104 max_pic_area | 108 max_pic_per_block
//   112 compression_ratio | 116 mean[3] | 128 std[3] | 140 crc_code
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/bytes.h"

namespace dts {

inline constexpr std::size_t kHeaderBytes = 144;
inline constexpr std::uint64_t kHeaderAreaBytes = 16u << 20;  // header_bytes of JPEG-block files
inline constexpr std::uint64_t kPixelHeaderBytes = 256;       // header_bytes of pixel files
inline constexpr std::uint64_t kDefaultBlockBytes = 16u << 20;
inline constexpr std::uint64_t kMaxSamplesPerFile = std::uint64_t{1} << 30;
// Keeps a lying header from making readers build billions of class names.
inline constexpr std::uint32_t kMaxClasses = std::uint32_t{1} << 24;

struct Header {
  std::array<std::uint8_t, 4> version{3, 0, 0, 0};
  std::string dataset_type = "IMAGENET";  // leading blanks removed
  std::uint32_t is_training = 1;
  std::uint32_t compress_level = 0;
  std::uint32_t val_set_prep = 0;
  std::uint32_t num_classes = 0;
  std::uint32_t image_width = 0;
  std::uint32_t image_height = 0;
  std::uint32_t num_channels = 3;
  std::string color_type = "RGB";  // leading blanks removed
  std::uint32_t num_samples = 0;
  std::uint32_t num_volumes = 1;
  std::uint32_t volume_id = 0;
  std::uint32_t total_blocks = 0;
  std::uint32_t num_blocks = 0;
  std::uint64_t total_bytes = 0;
  std::uint32_t header_bytes = kHeaderAreaBytes;
  std::uint64_t block_bytes = 0;
  std::uint32_t block_size = kDefaultBlockBytes;
  std::uint32_t block_header_size = 4096;
  std::uint32_t pic_alignment = kSampleAlignment;
  std::uint32_t max_pic_area = 0;
  std::uint32_t max_pic_per_block = 0;
  float compression_ratio = 1.0f;
  std::array<float, 3> normalize_mean{};
  std::array<float, 3> normalize_std{};
  std::uint32_t crc_code = 0;

  // Mean and standard deviation of the set's pixels, in 0 .. 1, by channel.
  // InvalidArgument for what no pixels have.
  void set_normalization(const std::array<float, 3>& mean, const std::array<float, 3>& std);

  bool has_blocks() const { return dataset_type == "IMAGENET"; }
  // Version 3.1 and later: samples may be pixels (format/raw_sample.h).
  bool may_hold_raw_samples() const { return has_blocks() && version[1] >= 1; }
  // Most samples the index area of a block can hold.
  std::uint32_t index_room() const { return (block_header_size - 12) / 12; }
};

// Reads and checks the fields against each other and, for JPEG-block files, against
// `file_bytes`: payload inside the file, block sizes in their limits, num_samples at
// most what the blocks can hold. CorruptFile names the field, its offset, what was
// found and what was expected. total_bytes is not trusted (old pixel files lie).
Header parse_header(ConstByteSpan first_bytes, std::uint64_t file_bytes, const std::string& path);

// The 144 bytes of `header`, crc_code included.
std::array<std::byte, kHeaderBytes> serialize_header(const Header& header);

}  // namespace dts
