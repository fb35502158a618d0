// SPDX-License-Identifier: Apache-2.0
#include "jpeg/crop_decoder.h"

namespace dts {
namespace {

constexpr std::int64_t kBlockBytes = kBlockCoefficients * sizeof(std::int16_t);

}  // namespace

bool CropDecoder::open(ConstByteSpan data) {
  is_open_ = read_frame_header(data, &header_) && PixelRows::can_decode(header_.geometry) &&
             entropy_.open(data, header_);
  return is_open_;
}

// Memory for MCUs of one row, a component behind the other.
CoefficientRow CropDecoder::make_row(std::int64_t num_mcus) {
  const JpegGeometry& geometry = header_.geometry;
  CoefficientRow row;
  std::array<std::int64_t, kMaxComponents + 1> first = {};
  const auto count = static_cast<std::size_t>(geometry.num_components);
  for (std::size_t c = 0; c < count; ++c) {
    row.planes[c].num_columns = num_mcus * geometry.horizontal[c];
    row.planes[c].num_rows = geometry.vertical[c];
    first[c + 1] = first[c] + row.planes[c].num_columns * row.planes[c].num_rows;
  }
  const auto num_blocks = static_cast<std::size_t>(first[count]);
  std::uint8_t* const blocks = coefficients_.get(num_blocks * kBlockBytes);
  std::uint8_t* const ends = ends_.get(num_blocks);
  for (std::size_t c = 0; c < count; ++c) {
    row.planes[c].blocks = reinterpret_cast<std::int16_t*>(blocks + first[c] * kBlockBytes);
    row.planes[c].ends = ends + first[c];
  }
  return row;
}

QuantTables CropDecoder::tables() const {
  QuantTables tables = {};
  for (std::size_t c = 0; c < tables.size(); ++c) tables[c] = header_.quantization[c].data();
  return tables;
}

template <class Rows>
bool CropDecoder::read(Rows& rows, ConstImageView* pixels) {
  const McuRange range = rows.range();
  const CoefficientRow row = make_row(range.right - range.left);
  for (std::int64_t y = range.top; y < range.bottom; ++y) {
    if (!entropy_.read(y, range.left, range.right, row)) return false;
    rows.add_row(row);
  }
  *pixels = rows.pixels();
  return true;
}

bool CropDecoder::decode(const Box& box, bool as_gray, ConstImageView* pixels) {
  if (!is_open_) return false;
  pixels_.begin(header_.geometry, tables(), box, as_gray);
  entropy_.keep_all();
  return read(pixels_, pixels);
}

bool CropDecoder::decode_scaled(const Box& box, int halvings, bool as_gray,
                                ConstImageView* pixels) {
  if (!is_open_) return false;
  scaled_.begin(header_.geometry, tables(), box, halvings, as_gray);
  entropy_.keep(scaled_.num_kept());
  return read(scaled_, pixels);
}

std::size_t CropDecoder::held_bytes() const {
  return entropy_.held_bytes() + pixels_.held_bytes() + scaled_.held_bytes() +
         coefficients_.bytes() + ends_.bytes();
}

void CropDecoder::release() {
  is_open_ = false;
  entropy_.release();
  pixels_.release();
  scaled_.release();
  coefficients_.release();
  ends_.release();
}

}  // namespace dts
