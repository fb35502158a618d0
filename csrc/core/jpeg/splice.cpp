// SPDX-License-Identifier: Apache-2.0
#include "jpeg/splice.h"

#include <algorithm>
#include <cstring>

#include "jpeg/restart_scan.h"

namespace dts {
namespace {

constexpr std::uint8_t kRst0 = 0xD0, kEoi = 0xD9;
constexpr std::size_t kMarkerBytes = 2;
// Upsampling a pixel's chroma looks at the sample beside its own, so at the pixel beside it.
constexpr std::int64_t kContext = 1;
// libjpeg upsamples pictures with two columns of chroma or less by another rule.
constexpr std::int64_t kMinWidth = 5;
// Copying costs about as much as decoding one MCU of this many.
constexpr std::int64_t kCopiedPerMcu = 64;
constexpr std::int64_t kFixedCost = 2;  // MCUs

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

void store_word(std::uint8_t* at, std::int64_t value) {
  at[0] = static_cast<std::uint8_t>(value >> 8);
  at[1] = static_cast<std::uint8_t>(value);
}

}  // namespace

bool Splicer::open(ConstByteSpan data) {
  is_open_ = false;
  const auto header = read_splice_header(data, head_);
  if (!header) return false;
  header_ = *header;
  coded_ = data.subspan(header_.coded_offset);
  if (!lay_grid()) return false;
  // Each segment but the last ends with a marker, so the file bounds what is asked for.
  const auto num_restarts = static_cast<std::size_t>(num_columns_ * num_rows_ - 1);
  if (num_restarts == 0 || num_restarts > coded_.size() / kMarkerBytes) return false;
  resize_with_room(&restarts_, num_restarts);
  const auto end = find_restarts(coded_, restarts_);
  if (!end) return false;
  end_ = *end;
  is_open_ = true;
  return true;
}

// Segments are parts of a row of MCUs, or some rows of them.
bool Splicer::lay_grid() {
  const std::int64_t interval = header_.restart_interval;
  mcus_per_row_ = divide_up(header_.width, header_.mcu_width);
  if (mcus_per_row_ % interval == 0) {
    segment_width_ = interval * header_.mcu_width;
    segment_height_ = header_.mcu_height;
  } else if (interval % mcus_per_row_ == 0) {
    segment_width_ = mcus_per_row_ * header_.mcu_width;
    segment_height_ = interval / mcus_per_row_ * header_.mcu_height;
  } else {
    return false;
  }
  num_columns_ = divide_up(header_.width, segment_width_);
  num_rows_ = divide_up(header_.height, segment_height_);
  return true;
}

Splicer::Cut Splicer::cut_around(const Box& box) const {
  const auto first = [](std::int64_t pixel, std::int64_t size) {
    return std::max<std::int64_t>(pixel - kContext, 0) / size;
  };
  const auto end = [](std::int64_t pixel, std::int64_t size, std::int64_t count) {
    return std::min(divide_up(pixel + kContext, size), count);
  };
  Cut cut;
  cut.left = first(box.left, segment_width_);
  cut.right = end(box.left + box.width, segment_width_, num_columns_);
  cut.top = first(box.top, segment_height_);
  cut.bottom = end(box.top + box.height, segment_height_, num_rows_);
  // Only the last column may be as narrow as that.
  if (header_.width - cut.left * segment_width_ < kMinWidth && cut.left > 0) --cut.left;
  return cut;
}

// libjpeg reads a picture's MCUs from the first row to the last of the box, each in full.
bool Splicer::saves_work(const Box& box, const Cut& cut) const {
  const std::int64_t top = cut.top * segment_height_ / header_.mcu_height;
  const std::int64_t bottom = divide_up(box.top + box.height, header_.mcu_height);
  const std::int64_t width = std::min((cut.right - cut.left) * segment_width_, header_.width);
  const std::int64_t from_part = divide_up(width, header_.mcu_width) * (bottom - top);
  const std::int64_t from_whole = mcus_per_row_ * bottom;
  return from_whole - from_part > kFixedCost + from_part / kCopiedPerMcu;
}

std::size_t Splicer::first_byte(std::int64_t segment) const {
  return segment == 0 ? 0 : restarts_[static_cast<std::size_t>(segment - 1)] + kMarkerBytes;
}

std::size_t Splicer::marker_of(std::int64_t segment) const {
  const auto index = static_cast<std::size_t>(segment);
  return index == restarts_.size() ? end_ : restarts_[index];
}

// The segments of one row lie one behind the other; with the marker behind the last.
ConstByteSpan Splicer::row_of(const Cut& cut, std::int64_t row) const {
  const std::size_t begin = first_byte(row * num_columns_ + cut.left);
  const std::size_t end = marker_of(row * num_columns_ + cut.right - 1) + kMarkerBytes;
  return coded_.subspan(begin, end - begin);
}

// `copy` is that of row_of(cut, row).
void Splicer::renumber(const Cut& cut, std::int64_t row, std::uint8_t* copy) const {
  const std::int64_t first = row * num_columns_ + cut.left;
  const std::size_t begin = first_byte(first);
  std::int64_t number = (row - cut.top) * (cut.right - cut.left);
  for (std::int64_t i = first; i < first + cut.right - cut.left; ++i, ++number) {
    copy[marker_of(i) - begin + 1] = static_cast<std::uint8_t>(kRst0 + number % 8);
  }
}

std::optional<Splicer::Part> Splicer::cut(const Box& box, bool even_if_slower) {
  if (!is_open_) return std::nullopt;
  const Cut cut = cut_around(box);
  if (!even_if_slower && !saves_work(box, cut)) return std::nullopt;

  std::size_t size = head_.size();
  for (std::int64_t row = cut.top; row < cut.bottom; ++row) size += row_of(cut, row).size();
  std::uint8_t* const part = part_.get(size);
  std::memcpy(part, head_.data(), head_.size());
  const std::int64_t left = cut.left * segment_width_, top = cut.top * segment_height_;
  const std::int64_t right = std::min(cut.right * segment_width_, header_.width);
  const std::int64_t bottom = std::min(cut.bottom * segment_height_, header_.height);
  store_word(part + header_.size_offset, bottom - top);
  store_word(part + header_.size_offset + 2, right - left);

  std::uint8_t* out = part + head_.size();
  for (std::int64_t row = cut.top; row < cut.bottom; ++row) {
    const ConstByteSpan bytes = row_of(cut, row);
    std::memcpy(out, bytes.data(), bytes.size());
    renumber(cut, row, out);
    out += bytes.size();
  }
  out[-1] = kEoi;
  return Part{{reinterpret_cast<const std::byte*>(part), size},
              {box.top - top, box.left - left, box.height, box.width}};
}

std::size_t Splicer::held_bytes() const {
  return head_.capacity() + restarts_.capacity() * sizeof(restarts_[0]) + part_.bytes();
}

void Splicer::release() {
  is_open_ = false;
  std::vector<std::byte>().swap(head_);
  std::vector<std::uint32_t>().swap(restarts_);
  part_.release();
}

}  // namespace dts
