// SPDX-License-Identifier: Apache-2.0
#include "format/pixel_writer.h"

#include <algorithm>
#include <utility>

#include "base/crc32.h"
#include "base/error.h"
#include "format/text.h"

namespace dts {
namespace {

void require(bool holds, const std::string& problem) {
  if (!holds) throw InvalidArgument(problem);
}

std::string shape_text(const Header& header) {
  return std::to_string(header.image_height) + " x " + std::to_string(header.image_width) + " x " +
         std::to_string(header.num_channels);
}

bool is_shape(const Header& header, std::uint32_t side, std::uint32_t channels) {
  return header.image_height == side && header.image_width == side &&
         header.num_channels == channels;
}

// The types that a shape may have.
std::vector<std::string> types_of(const Header& header) {
  if (is_shape(header, 28, 1)) return {"MNIST"};
  if (is_shape(header, 32, 3)) return {"CIFAR10", "CIFAR100"};
  return {"PIXELS"};
}

Header checked(Header header) {
  require(header.num_samples >= 1 && header.num_samples <= kMaxSamplesPerFile,
          std::to_string(header.num_samples) + " samples, expected 1 .. " +
              std::to_string(kMaxSamplesPerFile));
  require(header.num_classes >= 1 && header.num_classes <= kMaxPixelClasses,
          std::to_string(header.num_classes) +
              " classes, expected 1 .. 256 in a pixel file, whose labels are bytes");
  require(header.is_training <= 1,
          "is_training is " + std::to_string(header.is_training) + ", expected 0 or 1");
  require(header.image_width - 1 < 65535 && header.image_height - 1 < 65535 &&
              (header.num_channels == 1 || header.num_channels == 3),
          "images of " + shape_text(header) +
              " (height, width, channels), expected sides of 1 .. 65535 and 1 or 3 channels");
  const std::vector<std::string> types = types_of(header);
  require(std::find(types.begin(), types.end(), header.dataset_type) != types.end(),
          "dataset_type is " + in_quotes(header.dataset_type) + ", expected " +
              in_quotes(types.front()) + " for images of " + shape_text(header));
  // Below 2^30 * 2^34.
  const PixelPlaces places = pixel_places(header);
  const std::uint64_t payload = places.end() - kPixelHeaderBytes;
  require(payload <= kMaxPixelPayloadBytes, std::to_string(header.num_samples) + " samples of " +
                                                std::to_string(places.sample_bytes + 1) +
                                                " bytes are " + std::to_string(payload) +
                                                " bytes, expected less than 4 GiB in a pixel file");

  header.version = {3, 0, 0, 0};
  header.compress_level = 0;
  header.val_set_prep = 0;
  header.color_type = header.num_channels == 1 ? "GRAY" : "RGB";
  header.num_volumes = 1;
  header.volume_id = 0;
  header.total_blocks = header.num_blocks = 1;
  header.header_bytes = kPixelHeaderBytes;
  header.block_bytes = payload;
  header.block_size = static_cast<std::uint32_t>(payload);
  header.block_header_size = 0;
  header.pic_alignment = 0;
  header.max_pic_area = header.image_width * header.image_height;
  header.max_pic_per_block = header.num_samples;
  header.compression_ratio = 1.0f;
  return header;
}

}  // namespace

PixelWriter::PixelWriter(std::string target, bool overwrite, Header header)
    : header_(checked(std::move(header))),
      places_(pixel_places(header_)),
      output_(std::move(target), overwrite) {
  output_.reserve(places_.end());
}

void PixelWriter::write_pixels(ConstByteSpan pixels) {
  require(!finished_, "the writer has finished");
  const std::uint64_t room = places_.num_samples * places_.sample_bytes - written_;
  require(pixels.size() <= room, std::to_string(pixels.size()) + " bytes of pixels, expected " +
                                     std::to_string(room) + " at most");
  output_.write_at(places_.pixels() + written_, pixels);
  pixels_crc_ = crc32(pixels_crc_, pixels);
  written_ += pixels.size();
}

std::vector<std::byte> PixelWriter::label_bytes(std::span<const std::int64_t> labels) const {
  require(
      labels.size() == places_.num_samples,
      std::to_string(labels.size()) + " labels, expected " + std::to_string(places_.num_samples));
  std::vector<std::byte> bytes(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    require(labels[i] >= 0 && labels[i] < std::int64_t{header_.num_classes},
            "label " + std::to_string(i) + " is " + std::to_string(labels[i]) + ", expected 0 .. " +
                std::to_string(header_.num_classes - 1));
    bytes[i] = static_cast<std::byte>(labels[i]);
  }
  return bytes;
}

std::vector<std::byte> PixelWriter::tail(std::vector<Part> parts) const {
  const std::uint64_t start = places_.end();
  const std::uint64_t table_at = places_.table() - start;
  std::uint64_t end = table_at + kSectionTableHeadBytes + kSectionEntryBytes * parts.size();
  for (Part& part : parts) {
    part.section.offset = align_up(start + end);
    end = part.section.offset - start + part.content.size();
  }
  std::vector<std::byte> bytes(end + kPixelFooterBytes);
  const auto put = [&bytes](std::uint64_t at, ConstByteSpan content) {
    std::copy(content.begin(), content.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  };
  std::vector<Section> sections;
  for (const Part& part : parts) {
    put(part.section.offset - start, part.content);
    sections.push_back(part.section);
  }
  put(table_at, serialize_section_table(sections));
  put(end, serialize_pixel_footer(places_.table()));
  return bytes;
}

void PixelWriter::set_normalization(const std::array<float, 3>& mean,
                                    const std::array<float, 3>& std) {
  require(!finished_, "the writer has finished");
  header_.set_normalization(mean, std);
}

void PixelWriter::finish(std::span<const std::int64_t> labels, std::vector<std::byte> info,
                         std::vector<std::byte> classes) {
  require(!finished_, "the writer has finished");
  const std::uint64_t num_pixel_bytes = places_.num_samples * places_.sample_bytes;
  require(written_ == num_pixel_bytes, std::to_string(written_) +
                                           " bytes of pixels were written, expected " +
                                           std::to_string(num_pixel_bytes));
  const std::vector<std::byte> stored_labels = label_bytes(labels);
  finished_ = true;

  const auto part = [](const char* tag, std::vector<std::byte> content) {
    Section section;
    section.tag = tag;
    section.stored_bytes = section.raw_bytes = content.size();
    section.crc = crc32(0, content);
    return Part{std::move(section), std::move(content)};
  };
  std::vector<Part> parts;
  parts.push_back(part("HEAD", std::vector<std::byte>(4)));
  parts.push_back(part("INFO", std::move(info)));
  parts.push_back(part("CLSS", std::move(classes)));

  header_.total_bytes = places_.end() + tail(parts).size();
  // HEAD covers all of the header but crc_code, which covers HEAD.
  std::vector<std::byte> head(4);
  store_le(head.data(), crc32(0, ConstByteSpan(serialize_header(header_)).first(140)));
  parts.front() = part("HEAD", std::move(head));
  const std::vector<std::byte> behind = tail(std::move(parts));
  std::uint32_t crc = crc32(0, stored_labels);
  crc = crc32_combine(crc, pixels_crc_, num_pixel_bytes);
  header_.crc_code = crc32(crc, behind);

  std::vector<std::byte> first(kPixelHeaderBytes);
  const auto header_bytes = serialize_header(header_);
  std::copy(header_bytes.begin(), header_bytes.end(), first.begin());
  first.insert(first.end(), stored_labels.begin(), stored_labels.end());
  output_.write_at(0, first);
  output_.write_at(places_.end(), behind);
  output_.commit(header_.total_bytes);
}

}  // namespace dts
