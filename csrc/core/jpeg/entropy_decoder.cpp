// SPDX-License-Identifier: Apache-2.0
#include "jpeg/entropy_decoder.h"

#include <algorithm>

#include "image/scratch.h"
#include "jpeg/restart_scan.h"

namespace dts {
namespace {

constexpr std::size_t kMarkerBytes = 2;

}  // namespace

bool EntropyDecoder::open(ConstByteSpan data, const FrameHeader& header) {
  header_ = header;
  coded_ = data.subspan(header.coded_offset);
  num_mcus_ = header.geometry.mcus_per_row() * header.geometry.mcu_rows();
  interval_ = header.restart_interval == 0 ? num_mcus_ : header.restart_interval;
  has_tables_ = false;
  num_kept_.fill(kBlockCoefficients);
  keeps_all_ = true;
  segment_number_ = -1;
  // Each segment but the last ends with a marker, so the file bounds what is asked for.
  const auto num_restarts = static_cast<std::size_t>((num_mcus_ - 1) / interval_);
  if (num_restarts > coded_.size() / kMarkerBytes) return false;
  resize_with_room(&restarts_, num_restarts);
  const auto end = find_restarts(coded_, restarts_);
  end_ = end.value_or(0);
  return end.has_value();
}

bool EntropyDecoder::find_tables() {
  const JpegGeometry& geometry = header_.geometry;
  blocks_.num_blocks = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(geometry.num_components); ++c) {
    const DcTable* const dc = tables_.dc(header_.dc[c]);
    ac_[c] = tables_.ac(header_.ac[c]);
    if (dc == nullptr || ac_[c] == nullptr) return false;
    for (int y = 0; y < geometry.vertical[c]; ++y) {
      for (int x = 0; x < geometry.horizontal[c]; ++x) {
        const auto i = static_cast<std::size_t>(blocks_.num_blocks++);
        blocks_.blocks[i] = {
            .dc = dc, .ac = ac_[c], .component = c, .step = geometry.horizontal[c]};
        blocks_.blocks[i].kept = static_cast<unsigned>(num_kept_[c]);
        places_[i] = {static_cast<std::uint8_t>(y), static_cast<std::uint8_t>(x)};
      }
    }
  }
  has_tables_ = true;
  return true;
}

void EntropyDecoder::open_segment(std::int64_t number) {
  const auto index = static_cast<std::size_t>(number);
  const std::size_t begin = index == 0 ? 0 : restarts_[index - 1] + kMarkerBytes;
  const std::size_t end = index == restarts_.size() ? end_ : restarts_[index];
  segment_.open(coded_.subspan(begin, end - begin));
  segment_number_ = number;
  next_mcu_ = number * interval_;
}

void EntropyDecoder::keep(const std::array<int, kMaxComponents>& num_kept) {
  num_kept_ = num_kept;
  keeps_all_ = std::ranges::all_of(num_kept, [](int n) { return n == kBlockCoefficients; });
  has_tables_ = false;
}

void EntropyDecoder::build_skips() {
  for (int c = 0; c < header_.geometry.num_components; ++c) {
    ac_[static_cast<std::size_t>(c)]->build_skips();
  }
}

bool EntropyDecoder::skip(std::int64_t num_mcus) {
  if (num_mcus == 0) return true;
  build_skips();
  if (!segment_.skip(blocks_, num_mcus)) return false;
  next_mcu_ += num_mcus;
  return true;
}

bool EntropyDecoder::go_to(std::int64_t mcu) {
  const std::int64_t number = mcu / interval_;
  if (number != segment_number_ || mcu < next_mcu_) open_segment(number);
  return skip(mcu - next_mcu_);
}

void EntropyDecoder::set_targets(const CoefficientRow& row) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(blocks_.num_blocks); ++i) {
    McuBlocks::Block& block = blocks_.blocks[i];
    const CoefficientPlane& plane = row.planes[block.component];
    const std::int64_t at = places_[i][0] * plane.num_columns + places_[i][1];
    block.coefficients = plane.blocks + at * kBlockCoefficients;
    block.end = plane.ends + at;
  }
}

bool EntropyDecoder::read(std::int64_t mcu_row, std::int64_t first, std::int64_t end,
                          const CoefficientRow& row) {
  if (!has_tables_ && !find_tables()) return false;
  if (!keeps_all_) build_skips();
  set_targets(row);
  if (read_mcus(mcu_row, first, end)) return true;
  // Where its stream stands is not known.
  segment_number_ = -1;
  return false;
}

bool EntropyDecoder::read_mcus(std::int64_t mcu_row, std::int64_t first, std::int64_t end) {
  const std::int64_t start = mcu_row * header_.geometry.mcus_per_row();
  for (std::int64_t mcu = start + first; mcu < start + end;) {
    if (!go_to(mcu)) return false;
    const std::int64_t segment_end = std::min((segment_number_ + 1) * interval_, num_mcus_);
    const std::int64_t count = std::min(start + end, segment_end) - mcu;
    const bool is_read =
        keeps_all_ ? segment_.decode(blocks_, count) : segment_.decode_some(blocks_, count);
    if (!is_read) return false;
    mcu = next_mcu_ += count;
    // libjpeg would look for the marker behind what is left.
    if (mcu == segment_end && segment_end < num_mcus_ && !segment_.is_used_up()) return false;
  }
  return true;
}

std::size_t EntropyDecoder::held_bytes() const {
  return restarts_.capacity() * sizeof(restarts_[0]) + tables_.held_bytes() + segment_.held_bytes();
}

void EntropyDecoder::release() {
  std::vector<std::uint32_t>().swap(restarts_);
  tables_.release();
  segment_.release();
  segment_number_ = -1;
  has_tables_ = false;
  end_ = 0;
  num_mcus_ = 0;
  coded_ = {};
}

}  // namespace dts
