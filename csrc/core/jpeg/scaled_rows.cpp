// SPDX-License-Identifier: Apache-2.0
#include "jpeg/scaled_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"

namespace dts {
namespace {

// Behind each row: what the loops may read or write there.
constexpr std::int64_t kSlack = 128;

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

void ScaledRows::begin(const JpegGeometry& geometry, const QuantTables& tables, const Box& box,
                       int halvings, bool as_gray) {
  num_components_ = geometry.num_components;
  as_gray_ = as_gray;
  box_ = box;
  const std::int64_t mcu_width = geometry.mcu_width() >> halvings;
  mcu_height_ = geometry.mcu_height() >> halvings;
  range_ = {box.left / mcu_width, (box.left + box.width + mcu_width - 1) / mcu_width,
            box.top / mcu_height_, (box.top + box.height + mcu_height_ - 1) / mcu_height_};
  next_row_ = range_.top;
  first_pixel_ = box.left - range_.left * mcu_width;
  const std::int64_t num_mcus = range_.right - range_.left;

  num_kept_.fill(1);
  std::int64_t num_bytes = 0;
  std::array<std::int64_t, kMaxComponents> offsets = {};
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    Plane& plane = planes_[c];
    std::copy_n(tables[c], kBlockCoefficients, plane.table.data());
    plane.block_columns = geometry.horizontal[c];
    plane.block_rows = geometry.vertical[c];
    plane.repeat_h = geometry.horizontal[0] / geometry.horizontal[c];
    plane.repeat_v = geometry.vertical[0] / geometry.vertical[c];
    int halved = halvings;
    if (plane.repeat_h == 2 && plane.repeat_v == 2) {
      --halved;
      plane.repeat_h = plane.repeat_v = 1;
    }
    plane.idct = scaled_idct_kernel(level_, halved);
    plane.block_size = 8 >> halved;
    num_kept_[c] = kPlacesOfScaled[static_cast<std::size_t>(halved)];
    plane.stride = round_up(num_mcus * plane.block_columns * plane.block_size + kSlack, 64);
    offsets[c] = num_bytes;
    num_bytes += plane.block_rows * plane.block_size * plane.stride;
  }
  std::uint8_t* const memory = sample_memory_.get(static_cast<std::size_t>(num_bytes));
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    planes_[c].data = memory + offsets[c];
  }
  const std::int64_t channels = as_gray ? 1 : 3;
  const std::int64_t stride = round_up(round_up(box.width, kRgbBlock) * channels, 64);
  first_out_ = pixel_memory_.get(static_cast<std::size_t>(stride * box.height));
  pixels_ = {first_out_, box.height, box.width, channels, stride};
}

void ScaledRows::check(const CoefficientRow& row) const {
  bool fits = next_row_ < range_.bottom;
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    fits = fits && row.planes[c].num_rows == planes_[c].block_rows &&
           row.planes[c].num_columns == (range_.right - range_.left) * planes_[c].block_columns;
  }
  if (fits) return;
  throw InvalidArgument("coefficients of row " + std::to_string(next_row_) +
                        " of MCUs don't fit the box: expected columns " +
                        std::to_string(range_.left) + " to " + std::to_string(range_.right) +
                        " of rows up to " + std::to_string(range_.bottom));
}

void ScaledRows::add_row(const CoefficientRow& row) {
  check(row);
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    transform(planes_[c], row.planes[c]);
  }
  const std::int64_t top = next_row_ * mcu_height_;
  const std::int64_t end = std::min(top + mcu_height_, box_.top + box_.height);
  for (std::int64_t y = std::max(top, box_.top); y < end; ++y) convert_row(y);
  ++next_row_;
}

void ScaledRows::transform(const Plane& plane, const CoefficientPlane& coefficients) const {
  IdctRow job;
  job.num_blocks = coefficients.num_columns;
  job.table = plane.table.data();
  job.stride = plane.stride;
  for (std::int64_t i = 0; i < plane.block_rows; ++i) {
    job.blocks = coefficients.blocks + kBlockCoefficients * i * coefficients.num_columns;
    job.ends = coefficients.ends + i * coefficients.num_columns;
    job.out = plane.data + i * plane.block_size * plane.stride;
    plane.idct(job);
  }
}

// Samples under the box's first pixel in a row of pixels of the present row of MCUs.
const std::uint8_t* ScaledRows::chroma(std::size_t c, std::int64_t row) {
  const Plane& plane = planes_[c];
  const std::uint8_t* const samples = plane.data + row / plane.repeat_v * plane.stride;
  if (plane.repeat_h == 1) return samples + first_pixel_;
  const std::int64_t room = round_up(box_.width + kSlack, 64);
  std::uint8_t* const memory = repeated_memory_.get(static_cast<std::size_t>(2 * room));
  std::uint8_t* const repeated = memory + (c == 1 ? 0 : room);
  for (std::int64_t x = 0; x < box_.width; ++x) repeated[x] = samples[(first_pixel_ + x) / 2];
  return repeated;
}

void ScaledRows::convert_row(std::int64_t y) {
  const std::int64_t in_mcu = y - next_row_ * mcu_height_;
  RgbRow row;
  row.luma = planes_[0].data + in_mcu * planes_[0].stride + first_pixel_;
  row.count = box_.width;
  row.out = first_out_ + (y - box_.top) * pixels_.stride;
  if (num_components_ == 1) {
    if (as_gray_) {
      std::memcpy(row.out, row.luma, static_cast<std::size_t>(row.count));
    } else {
      rgb_.gray(row);
    }
    return;
  }
  row.cb = chroma(1, in_mcu);
  row.cr = chroma(2, in_mcu);
  rgb_.h1v1(row);
}

std::size_t ScaledRows::held_bytes() const {
  return sample_memory_.bytes() + pixel_memory_.bytes() + repeated_memory_.bytes();
}

void ScaledRows::release() {
  sample_memory_.release();
  pixel_memory_.release();
  repeated_memory_.release();
  pixels_ = {};
}

}  // namespace dts
