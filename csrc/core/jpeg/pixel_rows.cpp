// SPDX-License-Identifier: Apache-2.0
#include "jpeg/pixel_rows.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"

namespace dts {
namespace {

// Before each row of samples: the sample that stands left of the picture.
constexpr std::int64_t kMargin = 64;
// Behind each row: what the loops may read or write there.
constexpr std::int64_t kSlack = 128;
// Chroma of fewer columns is repeated, not smoothed, where it is half as wide as luma.
constexpr std::int64_t kMinSmoothWidth = 3;

std::int64_t round_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

std::int64_t ratio_h(const JpegGeometry& geometry, int c) {
  return geometry.horizontal[0] / geometry.horizontal[static_cast<std::size_t>(c)];
}

std::int64_t ratio_v(const JpegGeometry& geometry, int c) {
  return geometry.vertical[0] / geometry.vertical[static_cast<std::size_t>(c)];
}

bool is_smooth(const JpegGeometry& geometry) {
  if (geometry.num_components == 1) return true;
  const std::int64_t ratio = ratio_h(geometry, 1);
  return ratio == 1 || (geometry.width + ratio - 1) / ratio >= kMinSmoothWidth;
}

// Samples that pixels [begin, end) of `size` depend on, `ratio` pixels to a sample.
Span needed_samples(std::int64_t begin, std::int64_t end, std::int64_t size, std::int64_t ratio,
                    bool is_smooth) {
  if (ratio == 1) return {begin, end};
  const std::int64_t num_samples = (size + 1) / 2;
  if (!is_smooth) return {begin / 2, (end + 1) / 2};
  return {std::max<std::int64_t>(begin - 1, 0) / 2, std::min(end / 2 + 1, num_samples)};
}

void widen(std::int64_t begin, std::int64_t end, std::int64_t* range_begin,
           std::int64_t* range_end) {
  *range_begin = std::min(*range_begin, begin);
  *range_end = std::max(*range_end, end);
}

}  // namespace

PixelRows::PixelRows(SimdLevel level) : idct_(idct_kernel(level)), rgb_(rgb_kernels(level)) {}

bool PixelRows::can_decode(const JpegGeometry& geometry) {
  const auto& h = geometry.horizontal;
  const auto& v = geometry.vertical;
  if (geometry.num_components == 1) return h[0] == 1 && v[0] == 1;
  const auto fits = [](int luma, int chroma) { return luma == chroma || luma == 2 * chroma; };
  return geometry.num_components == 3 && h[1] == h[2] && v[1] == v[2] && fits(h[0], h[1]) &&
         fits(v[0], v[1]);
}

McuRange PixelRows::needed_mcus(const JpegGeometry& geometry, const Box& box) {
  const bool smooth = is_smooth(geometry);
  McuRange range = {geometry.mcus_per_row(), 0, geometry.mcu_rows(), 0};
  for (int c = 0; c < geometry.num_components; ++c) {
    const std::int64_t mcu_width = geometry.mcu_width() / ratio_h(geometry, c);
    const std::int64_t mcu_height = geometry.mcu_height() / ratio_v(geometry, c);
    const Span columns = needed_samples(box.left, box.left + box.width, geometry.width,
                                        ratio_h(geometry, c), smooth);
    const Span rows = needed_samples(box.top, box.top + box.height, geometry.height,
                                     ratio_v(geometry, c), smooth);
    widen(columns.begin / mcu_width, (columns.end + mcu_width - 1) / mcu_width, &range.left,
          &range.right);
    widen(rows.begin / mcu_height, (rows.end + mcu_height - 1) / mcu_height, &range.top,
          &range.bottom);
  }
  return range;
}

void PixelRows::begin(const JpegGeometry& geometry, const QuantTables& tables, const Box& box,
                      bool as_gray) {
  box_ = box;
  range_ = needed_mcus(geometry, box);
  num_components_ = geometry.num_components;
  is_smooth_ = is_smooth(geometry);
  is_half_high_ = is_smooth_ && num_components_ == 3 && ratio_v(geometry, 1) == 2;
  const bool is_half_wide = num_components_ == 3 && ratio_h(geometry, 1) == 2;
  in_pairs_ = is_half_high_ && is_half_wide;
  mcu_height_ = geometry.mcu_height();
  height_ = geometry.height;
  next_row_ = range_.top;
  num_finished_ = 0;
  first_pixel_ = is_half_wide ? box.left / 2 * 2 : box.left;
  num_pixels_ = box.left + box.width - first_pixel_;
  lay_out_planes(geometry, tables);
  if (num_components_ == 1) {
    convert_ = as_gray ? nullptr : rgb_.gray;
  } else if (is_half_high_) {
    convert_ = in_pairs_ ? nullptr : rgb_.h1v2;
  } else {
    convert_ = is_smooth_ && is_half_wide ? rgb_.h2v1 : rgb_.h1v1;
  }
  lay_out_pixels(as_gray);
}

void PixelRows::lay_out_planes(const JpegGeometry& geometry, const QuantTables& tables) {
  const std::int64_t num_kept_rows = is_half_high_ ? 1 : 0;
  std::int64_t num_bytes = 0;
  std::array<std::int64_t, kMaxComponents> offsets = {};
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    Plane& plane = planes_[c];
    std::copy_n(tables[c], kBlockCoefficients, plane.table.data());
    plane.h = ratio_h(geometry, static_cast<int>(c));
    plane.v = ratio_v(geometry, static_cast<int>(c));
    plane.block_columns = geometry.horizontal[c];
    plane.rows_per_mcu = 8 * geometry.vertical[c];
    plane.width = (geometry.width + plane.h - 1) / plane.h;
    plane.height = (geometry.height + plane.v - 1) / plane.v;
    plane.columns =
        needed_samples(box_.left, box_.left + box_.width, geometry.width, plane.h, is_smooth_);
    plane.rows =
        needed_samples(box_.top, box_.top + box_.height, geometry.height, plane.v, is_smooth_);
    plane.first_column = plane.columns.begin / 8 * 8;
    plane.first_row = range_.top * plane.rows_per_mcu;
    // Rows that lie an odd number of lines apart spread over the cache.
    const std::int64_t num_lines =
        (kMargin + round_up(plane.columns.end - plane.first_column, 8) + kSlack + 63) / 64;
    plane.stride = 64 * (num_lines | 1);
    offsets[c] = num_bytes + num_kept_rows * plane.stride + kMargin;
    num_bytes += (num_kept_rows + plane.rows_per_mcu) * plane.stride;
  }
  std::uint8_t* const memory = sample_memory_.get(static_cast<std::size_t>(num_bytes));
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    planes_[c].data = memory + offsets[c];
  }
  if (!in_pairs_) return;
  next_pair_ = planes_[1].rows.begin;
  const std::int64_t num_sums = round_up(num_pixels_, kRgbBlock);
  sums_[0] =
      reinterpret_cast<std::int16_t*>(sum_memory_.get(static_cast<std::size_t>(4 * num_sums)));
  sums_[1] = sums_[0] + num_sums;
}

void PixelRows::lay_out_pixels(bool as_gray) {
  const std::int64_t channels = as_gray ? 1 : 3;
  const std::int64_t stride = round_up(round_up(num_pixels_, kRgbBlock) * channels, 64);
  // And a row for what is thrown away.
  first_out_ = pixel_memory_.get(static_cast<std::size_t>(stride * (box_.height + 1)));
  pixels_ = {first_out_ + (box_.left - first_pixel_) * channels, box_.height, box_.width, channels,
             stride};
}

std::int64_t PixelRows::add_row(const CoefficientRow& row) {
  check(row);
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    if (next_row_ > range_.top) advance(&planes_[c]);
    transform(planes_[c], row.planes[c]);
  }
  ++next_row_;
  if (in_pairs_) {
    finish_pairs();
    return num_finished_;
  }
  std::int64_t end = next_row_ * mcu_height_;
  // The last row waits for the chroma below it, which the picture's last one does not have.
  if (is_half_high_ && end < height_) --end;
  end = std::min(end, box_.top + box_.height);
  for (std::int64_t y = box_.top + num_finished_; y < end; ++y) finish_row(y);
  num_finished_ = std::max(num_finished_, end - box_.top);
  return num_finished_;
}

void PixelRows::advance(Plane* plane) const {
  if (is_half_high_) {
    const std::uint8_t* const last =
        plane->data + (plane->rows_per_mcu - 1) * plane->stride - kMargin;
    std::memcpy(plane->data - plane->stride - kMargin, last,
                static_cast<std::size_t>(plane->stride));
  }
  plane->first_row += plane->rows_per_mcu;
}

void PixelRows::check(const CoefficientRow& row) const {
  bool fits = next_row_ < range_.bottom;
  for (std::size_t c = 0; c < static_cast<std::size_t>(num_components_); ++c) {
    const Plane& plane = planes_[c];
    fits = fits && row.planes[c].num_rows == plane.rows_per_mcu / 8 &&
           row.planes[c].num_columns == (range_.right - range_.left) * plane.block_columns;
  }
  if (fits) return;
  throw InvalidArgument("coefficients of row " + std::to_string(next_row_) +
                        " of MCUs don't fit the box: expected columns " +
                        std::to_string(range_.left) + " to " + std::to_string(range_.right) +
                        " of rows up to " + std::to_string(range_.bottom));
}

// The blocks of the next row of MCUs that are needed.
void PixelRows::transform(const Plane& plane, const CoefficientPlane& coefficients) const {
  const std::int64_t first_block = plane.first_column / 8;
  const std::int64_t skipped = first_block - range_.left * plane.block_columns;
  IdctRow job;
  job.num_blocks = (plane.columns.end + 7) / 8 - first_block;
  job.table = plane.table.data();
  job.stride = plane.stride;
  for (int i = 0; i < coefficients.num_rows; ++i) {
    const std::int64_t y = next_row_ * plane.rows_per_mcu + 8 * i;
    if (y + 8 <= plane.rows.begin || y >= plane.rows.end) continue;
    const std::int64_t first = i * coefficients.num_columns + skipped;
    job.blocks = coefficients.blocks + kBlockCoefficients * first;
    job.ends = coefficients.ends + first;
    job.out = plane.at(y, plane.first_column);
    idct_(job);
    if (plane.h == 1) continue;
    // The picture's first and last sample count as their neighbours outside.
    for (std::int64_t k = y; k < y + 8; ++k) {
      if (plane.columns.begin == 0) *plane.at(k, -1) = *plane.at(k, 0);
      if (plane.columns.end == plane.width)
        *plane.at(k, plane.width) = *plane.at(k, plane.width - 1);
    }
  }
}

// Where row y goes; rows outside of the box go where nobody reads.
std::uint8_t* PixelRows::out_row(std::int64_t y) const {
  const std::int64_t row = y - box_.top;
  return first_out_ + (row < 0 ? box_.height : std::min(row, box_.height)) * pixels_.stride;
}

void PixelRows::finish_row(std::int64_t y) {
  RgbRow row;
  row.luma = planes_[0].at(y, first_pixel_);
  row.count = num_pixels_;
  row.out = out_row(y);
  if (convert_ == nullptr) {
    std::memcpy(row.out, row.luma, static_cast<std::size_t>(row.count));
    return;
  }
  if (num_components_ == 3) {
    const Plane& plane = planes_[1];
    const std::int64_t x = plane.h == 2 ? first_pixel_ / 2 : first_pixel_;
    const std::int64_t near = plane.v == 2 ? y / 2 : y;
    row.is_lower = plane.v == 2 && y % 2 == 1;
    row.cb = plane.at(near, x);
    row.cr = planes_[2].at(near, x);
    if (!is_smooth_) {
      repeat_chroma(&row);
    } else if (is_half_high_) {
      const std::int64_t far =
          std::clamp<std::int64_t>(row.is_lower ? near + 1 : near - 1, 0, plane.height - 1);
      row.far_cb = plane.at(far, x);
      row.far_cr = planes_[2].at(far, x);
    }
  }
  convert_(row);
}

// The pairs of rows above each row of chroma that is there now.
void PixelRows::finish_pairs() {
  const Plane& plane = planes_[1];
  const std::int64_t end = std::min(plane.first_row + plane.rows_per_mcu, plane.rows.end);
  for (; next_pair_ < end; ++next_pair_) {
    finish_pair(next_pair_);
    // The first row is its own neighbour.
    if (next_pair_ == 0) finish_pair(next_pair_);
  }
  std::int64_t end_y = 2 * next_pair_ - 1;
  if (next_pair_ == plane.height) {
    // So is the last one.
    finish_pair(next_pair_);
    end_y = 2 * next_pair_;
  }
  num_finished_ = std::clamp<std::int64_t>(end_y - box_.top, 0, box_.height);
}

// Rows 2 * chroma_row - 1 and the next one, as far as the box has them.
void PixelRows::finish_pair(std::int64_t chroma_row) {
  const Plane& plane = planes_[1];
  const std::int64_t y = 2 * chroma_row - 1;
  const std::int64_t x = first_pixel_ / 2;
  const std::int64_t near = std::min(chroma_row, plane.height - 1);
  const auto luma = [&](std::int64_t row) {
    const bool is_there = row >= box_.top && row < box_.top + box_.height;
    return planes_[0].at(is_there ? row : planes_[0].first_row, first_pixel_);
  };
  rgb_.h2v2({.luma = {luma(y), luma(y + 1)},
             .cb = plane.at(near, x),
             .cr = planes_[2].at(near, x),
             .cb_sums = sums_[0],
             .cr_sums = sums_[1],
             .count = num_pixels_,
             .out = {out_row(y), out_row(y + 1)}});
}

// Of a picture at most four pixels wide: each sample of chroma twice.
void PixelRows::repeat_chroma(RgbRow* row) {
  std::uint8_t* const cb = repeated_memory_.get(2 * kSlack);
  std::uint8_t* const cr = cb + kSlack;
  for (std::int64_t x = 0; x < row->count; ++x) {
    cb[x] = row->cb[x / 2];
    cr[x] = row->cr[x / 2];
  }
  row->cb = cb;
  row->cr = cr;
}

std::size_t PixelRows::held_bytes() const {
  return sample_memory_.bytes() + pixel_memory_.bytes() + sum_memory_.bytes() +
         repeated_memory_.bytes();
}

void PixelRows::release() {
  sample_memory_.release();
  pixel_memory_.release();
  sum_memory_.release();
  repeated_memory_.release();
  pixels_ = {};
}

}  // namespace dts
