// SPDX-License-Identifier: Apache-2.0
#include "format/pixel_reader.h"

#include <algorithm>
#include <limits>
#include <string>

#include "base/crc32.h"
#include "base/error.h"
#include "format/pixel_sections.h"
#include "format/text.h"

namespace dts {
namespace {

// Reads to `out` piece by piece, so that the CRC finds the bytes still in the cache.
std::uint32_t read_with_crc(std::uint32_t crc, std::uint64_t offset, ByteSpan out,
                            const InputFile& handle) {
  for (std::size_t done = 0; done < out.size();) {
    const ByteSpan piece = out.subspan(done, std::min(kReadPieceBytes, out.size() - done));
    handle.read_exact(offset + done, piece);
    crc = crc32(crc, piece);
    done += piece.size();
  }
  return crc;
}

// Widens the label bytes, each below num_classes.
template <class Label>
void widen_labels(const DtsFile& file, ConstByteSpan bytes, std::span<Label> labels) {
  const std::uint32_t num_classes = file.header().num_classes;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto label = std::to_integer<std::uint32_t>(bytes[i]);
    if (label >= num_classes) {
      throw CorruptFile(file.path(), static_cast<std::int64_t>(kPixelHeaderBytes + i),
                        "label " + std::to_string(i) + " is " + std::to_string(label) +
                            ", expected 0 .. " + std::to_string(std::int64_t{num_classes} - 1));
    }
    labels[i] = static_cast<Label>(label);
  }
}

void require_length(const char* name, std::uint64_t found, std::uint64_t expected) {
  if (found != expected) {
    throw InvalidArgument(std::string(name) + " has room for " + std::to_string(found) +
                          ", expected " + std::to_string(expected));
  }
}

}  // namespace

SampleTable pixel_samples(const Header& header) {
  const PixelPlaces places = pixel_places(header);
  // Sizes are 32-bit numbers here; one image of 4 GiB is beyond what any of our writers makes.
  if (places.sample_bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw InvalidArgument("a sample of this pixel file has " + std::to_string(places.sample_bytes) +
                          " bytes, expected less than 4 GiB");
  }
  SampleTable table;
  table.sizes.assign(places.num_samples, static_cast<std::uint32_t>(places.sample_bytes));
  table.offsets.resize(places.num_samples);
  for (std::uint64_t i = 0; i < places.num_samples; ++i) {
    table.offsets[i] = places.pixels() + i * places.sample_bytes;
  }
  return table;
}

std::vector<std::int32_t> read_pixel_labels(const DtsFile& file, const InputFile& handle) {
  file.check_unchanged(handle);
  std::vector<std::byte> bytes(file.header().num_samples);
  handle.read_exact(kPixelHeaderBytes, bytes);
  std::vector<std::int32_t> labels(bytes.size());
  widen_labels<std::int32_t>(file, bytes, labels);
  return labels;
}

void read_pixels(const DtsFile& file, std::span<std::int64_t> labels, ByteSpan pixels, bool check,
                 const InputFile& handle) {
  const Header& header = file.header();
  if (header.has_blocks()) throw InvalidArgument("a file of blocks has no pixels");
  const PixelPlaces places = pixel_places(header);
  require_length("labels", labels.size(), places.num_samples);
  require_length("pixels", pixels.size(), places.num_samples * places.sample_bytes);
  file.check_unchanged(handle);
  std::vector<std::byte> label_bytes(places.num_samples);
  std::uint32_t crc = read_with_crc(0, places.labels, label_bytes, handle);
  crc = read_with_crc(crc, places.pixels(), pixels, handle);
  if (check) {
    crc = file.crc_to_end(crc, places.end(), handle);
    if (crc != header.crc_code) {
      throw CorruptFile(file.path(), -1,
                        "the CRC-32 of all behind the header is " + hex32(crc) +
                            ", the header says " + hex32(header.crc_code));
    }
  }
  widen_labels<std::int64_t>(file, label_bytes, labels);
}

}  // namespace dts
