// SPDX-License-Identifier: Apache-2.0
#include "format/header.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

constexpr std::string_view kMagic = ".DTS";
constexpr std::string_view kLayout = "NHWC";
constexpr std::uint8_t kMajorVersion = 3;

// Throws CorruptFile about one field unless `holds`.
class Checker {
 public:
  explicit Checker(const std::string& path) : path_(path) {}
  void require(bool holds, std::int64_t offset, const std::string& problem) const {
    if (!holds) throw CorruptFile(path_, offset, problem);
  }
  // "num_samples is 7, expected <what>"
  template <class Value>
  void field(bool holds, std::int64_t offset, const char* name, Value found,
             const std::string& expected) const {
    if (!holds) {
      throw CorruptFile(
          path_, offset,
          std::string(name) + " is " + std::to_string(found) + ", expected " + expected);
    }
  }

 private:
  const std::string& path_;
};

std::string load_padded(const std::byte* at, std::size_t width) {
  const std::string text(reinterpret_cast<const char*>(at), width);
  return text.substr(std::min(text.find_first_not_of(' '), width));
}

void store_padded(std::byte* at, std::size_t width, const std::string& text) {
  if (text.size() > width) {
    throw InvalidArgument("header text " + in_quotes(text) + " is longer than " +
                          std::to_string(width) + " characters");
  }
  std::fill_n(at, width, std::byte{' '});
  std::memcpy(at + width - text.size(), text.data(), text.size());
}

Header load_header(const std::byte* at) {
  const auto u32 = [at](std::size_t offset) { return load_le<std::uint32_t>(at + offset); };
  Header header;
  for (std::size_t i = 0; i < 4; ++i) header.version[i] = load_le<std::uint8_t>(at + 4 + i);
  header.dataset_type = load_padded(at + 8, 8);
  header.is_training = u32(16);
  header.compress_level = u32(20);
  header.val_set_prep = u32(24);
  header.num_classes = u32(28);
  header.image_width = u32(36);
  header.image_height = u32(40);
  header.num_channels = u32(44);
  header.color_type = load_padded(at + 48, 4);
  header.num_samples = u32(52);
  header.num_volumes = u32(56);
  header.volume_id = u32(60);
  header.total_blocks = u32(64);
  header.num_blocks = u32(68);
  header.total_bytes = load_le<std::uint64_t>(at + 72);
  header.header_bytes = u32(80);
  header.block_bytes = load_le<std::uint64_t>(at + 84);
  header.block_size = u32(92);
  header.block_header_size = u32(96);
  header.pic_alignment = u32(100);
  header.max_pic_area = u32(104);
  header.max_pic_per_block = u32(108);
  header.compression_ratio = load_le<float>(at + 112);
  for (std::size_t i = 0; i < 3; ++i) {
    header.normalize_mean[i] = load_le<float>(at + 116 + 4 * i);
    header.normalize_std[i] = load_le<float>(at + 128 + 4 * i);
  }
  header.crc_code = u32(140);
  return header;
}

void check_block_fields(const Header& header, std::uint64_t file_bytes, const Checker& check) {
  check.field(header.header_bytes == kHeaderAreaBytes, 80, "header_bytes", header.header_bytes,
              std::to_string(kHeaderAreaBytes));
  check.field(header.block_size != 0 && header.block_size % kDefaultBlockBytes == 0, 92,
              "block_size", header.block_size,
              "a multiple of " + std::to_string(kDefaultBlockBytes));
  check.field(header.pic_alignment == kSampleAlignment, 100, "pic_alignment", header.pic_alignment,
              std::to_string(kSampleAlignment));
  check.field(
      header.block_header_size >= 24 && header.block_header_size % kSampleAlignment == 0 &&
          header.block_header_size < header.block_size,
      96, "block_header_size", header.block_header_size,
      "a multiple of 64, at least 64 and below block_size " + std::to_string(header.block_size));
  // Below 2^64 for any two 32-bit numbers.
  const std::uint64_t payload = std::uint64_t{header.num_blocks} * header.block_size;
  check.field(header.block_bytes == payload, 84, "block_bytes", header.block_bytes,
              std::to_string(payload) + " = num_blocks " + std::to_string(header.num_blocks) +
                  " * block_size " + std::to_string(header.block_size));
  const std::uint64_t room = std::uint64_t{header.num_blocks} * header.index_room();
  check.field(header.num_samples <= room, 52, "num_samples", header.num_samples,
              "at most " + std::to_string(room) + " = num_blocks " +
                  std::to_string(header.num_blocks) + " * index room " +
                  std::to_string(header.index_room()));
  const std::uint64_t end = kHeaderAreaBytes + payload;
  check.require(file_bytes >= end, static_cast<std::int64_t>(file_bytes),
                "the file is cut off: it has " + std::to_string(file_bytes) +
                    " bytes, expected at least " + std::to_string(end) + " (header area and " +
                    std::to_string(header.num_blocks) + " blocks)");
}

void check_pixel_fields(const Header& header, std::uint64_t file_bytes, const Checker& check) {
  check.field(header.header_bytes == kPixelHeaderBytes, 80, "header_bytes", header.header_bytes,
              std::to_string(kPixelHeaderBytes));
  const std::string limit = "1 .. 65535 for a pixel file";
  check.field(header.image_width - 1 < 65535, 36, "image_width", header.image_width, limit);
  check.field(header.image_height - 1 < 65535, 40, "image_height", header.image_height, limit);
  check.field(header.num_channels - 1 < 65535, 44, "num_channels", header.num_channels, limit);
  // A label byte and the pixels; below 2^48. The division keeps the product in 64 bits.
  const std::uint64_t sample =
      1 + std::uint64_t{header.image_width} * header.image_height * header.num_channels;
  const std::uint64_t available = file_bytes - std::min(file_bytes, kPixelHeaderBytes);
  check.require(header.num_samples <= available / sample, static_cast<std::int64_t>(file_bytes),
                "the file is cut off: it has " + std::to_string(file_bytes) + " bytes, room for " +
                    std::to_string(available / sample) + " samples, expected " +
                    std::to_string(header.num_samples) + " of " + std::to_string(sample) +
                    " bytes");
}

}  // namespace

Header parse_header(ConstByteSpan first_bytes, std::uint64_t file_bytes, const std::string& path) {
  const Checker check(path);
  const std::size_t available = std::min<std::uint64_t>(first_bytes.size(), file_bytes);
  check.require(available > 0, 0, "not a .dts file: it is empty");
  const std::string_view magic = as_text(first_bytes.first(std::min<std::size_t>(available, 4)));
  check.require(
      magic == kMagic, 0,
      "not a .dts file: it starts with " + in_quotes(magic) + ", expected " + in_quotes(kMagic));
  check.require(available >= kHeaderBytes, static_cast<std::int64_t>(available),
                "the file is cut off in its header: it has " + std::to_string(available) +
                    " bytes, expected at least " + std::to_string(kHeaderBytes));
  const std::byte* at = first_bytes.data();
  const Header header = load_header(at);

  check.field(header.version[0] == kMajorVersion, 4, "format version", int{header.version[0]},
              header.version[0] > kMajorVersion
                  ? "3: the file is newer than this reader; update torch_dts"
                  : "3");
  const bool is_pixels = header.dataset_type == "CIFAR10" || header.dataset_type == "CIFAR100" ||
                         header.dataset_type == "MNIST" || header.dataset_type == "PIXELS";
  check.require(header.has_blocks() || is_pixels, 8,
                "dataset_type is " + in_quotes(header.dataset_type) +
                    ", expected IMAGENET, CIFAR10, CIFAR100, MNIST or PIXELS");
  check.field(header.is_training <= 1, 16, "is_training", header.is_training, "0 or 1");
  check.field(header.compress_level <= 3, 20, "compress_level", header.compress_level, "0 .. 3");
  check.field(header.num_classes <= kMaxClasses, 28, "num_classes", header.num_classes,
              "at most " + std::to_string(kMaxClasses));
  const std::string_view layout = as_text(first_bytes.subspan(32, 4));
  check.require(layout == kLayout, 32,
                "tensor_layout is " + in_quotes(layout) + ", expected " + in_quotes(kLayout));
  check.field(header.num_samples <= kMaxSamplesPerFile, 52, "num_samples", header.num_samples,
              "at most " + std::to_string(kMaxSamplesPerFile));
  check.field(header.volume_id < header.num_volumes, 60, "volume_id", header.volume_id,
              "below num_volumes " + std::to_string(header.num_volumes));
  if (header.has_blocks()) {
    check_block_fields(header, file_bytes, check);
  } else {
    check_pixel_fields(header, file_bytes, check);
  }
  return header;
}

void Header::set_normalization(const std::array<float, 3>& mean, const std::array<float, 3>& std) {
  for (std::size_t i = 0; i < 3; ++i) {
    // Written so that NaN fails.
    const bool holds = mean[i] >= 0 && mean[i] <= 1 && std[i] >= 0 && std[i] <= 0.5f;
    if (!holds) {
      throw InvalidArgument("mean " + std::to_string(mean[i]) + " and std " +
                            std::to_string(std[i]) + " of channel " + std::to_string(i) +
                            ", expected at most 1 and 0.5, as pixels of 0 .. 1 have");
    }
  }
  normalize_mean = mean;
  normalize_std = std;
}

std::array<std::byte, kHeaderBytes> serialize_header(const Header& header) {
  std::array<std::byte, kHeaderBytes> bytes{};
  std::byte* at = bytes.data();
  const auto u32 = [at](std::size_t offset, std::uint32_t value) { store_le(at + offset, value); };
  std::memcpy(at, kMagic.data(), 4);
  for (std::size_t i = 0; i < 4; ++i) store_le(at + 4 + i, header.version[i]);
  store_padded(at + 8, 8, header.dataset_type);
  u32(16, header.is_training);
  u32(20, header.compress_level);
  u32(24, header.val_set_prep);
  u32(28, header.num_classes);
  std::memcpy(at + 32, kLayout.data(), 4);
  u32(36, header.image_width);
  u32(40, header.image_height);
  u32(44, header.num_channels);
  store_padded(at + 48, 4, header.color_type);
  u32(52, header.num_samples);
  u32(56, header.num_volumes);
  u32(60, header.volume_id);
  u32(64, header.total_blocks);
  u32(68, header.num_blocks);
  store_le(at + 72, header.total_bytes);
  u32(80, header.header_bytes);
  store_le(at + 84, header.block_bytes);
  u32(92, header.block_size);
  u32(96, header.block_header_size);
  u32(100, header.pic_alignment);
  u32(104, header.max_pic_area);
  u32(108, header.max_pic_per_block);
  store_le(at + 112, header.compression_ratio);
  for (std::size_t i = 0; i < 3; ++i) {
    store_le(at + 116 + 4 * i, header.normalize_mean[i]);
    store_le(at + 128 + 4 * i, header.normalize_std[i]);
  }
  u32(140, header.crc_code);
  return bytes;
}

}  // namespace dts
