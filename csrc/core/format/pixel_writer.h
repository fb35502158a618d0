// SPDX-License-Identifier: Apache-2.0
// Writing a pixel file: pixels piece by piece in source order, then labels, sections and
// header, then the rename that makes the file appear.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/header.h"
#include "format/pixel_sections.h"

namespace dts {

// Labels are bytes, and the payload's size is a 32-bit field of the header.
inline constexpr std::uint32_t kMaxPixelClasses = 256;
inline constexpr std::uint64_t kMaxPixelPayloadBytes = 0xFFFFFFFF;

// Used by one thread at a time.
class PixelWriter {
 public:
  // `header`: dataset_type, is_training, num_classes, num_samples and the shape; the rest is
  // filled in. InvalidArgument for more than 256 classes, a payload of 4 GiB or more, other
  // channels than 1 and 3, or a dataset_type that does not go with the shape; OutputFile's
  // errors. Destroyed before finish() it leaves no file.
  PixelWriter(std::string target, bool overwrite, Header header);

  // The pixels that come next, any number of bytes. InvalidArgument beyond the last sample.
  void write_pixels(ConstByteSpan pixels);

  // What the header says of the set's pixels (Header::set_normalization). Before finish().
  void set_normalization(const std::array<float, 3>& mean, const std::array<float, 3>& std);

  // `labels` [num_samples], each below num_classes; content of the sections INFO and CLSS.
  // Writes the rest of the file and commits it. InvalidArgument when pixels are missing.
  void finish(std::span<const std::int64_t> labels, std::vector<std::byte> info,
              std::vector<std::byte> classes);

 private:
  struct Part {
    Section section;
    std::vector<std::byte> content;
  };

  std::vector<std::byte> label_bytes(std::span<const std::int64_t> labels) const;
  // Table, sections and footer as they lie in the file from places_.end() on.
  std::vector<std::byte> tail(std::vector<Part> parts) const;

  Header header_;  // checked before output_ creates a file
  PixelPlaces places_;
  OutputFile output_;
  std::uint64_t written_ = 0;  // bytes of pixels
  std::uint32_t pixels_crc_ = 0;
  bool finished_ = false;
};

}  // namespace dts
