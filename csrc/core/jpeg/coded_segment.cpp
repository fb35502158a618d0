// SPDX-License-Identifier: Apache-2.0
#include "jpeg/coded_segment.h"

#include <algorithm>
#include <cstring>

#include "jpeg/unstuff_kernels.h"

namespace dts {
namespace {

// Read at a time: stays in the first cache beside the tables. Half of it, were it all stuffed, is
// more than kMcuReadAhead.
constexpr std::int64_t kPiece = 6 * 1024;
// The reader is up to 8 bytes ahead of what it took.
constexpr std::int64_t kAhead = 8;
constexpr std::int64_t kBufferBytes = 2 * kMcuReadAhead + kPiece + kAhead + kUnstuffRoom;
// In this many MCUs DC can't leave 32 bits from within this range.
constexpr std::int64_t kMcusAtOnce = 8192;
constexpr std::int32_t kMaxDc = 1 << 30;

}  // namespace

void CodedSegment::open(ConstByteSpan coded) {
  std::uint8_t* const buffer = buffer_.get(kBufferBytes);
  source_ = reinterpret_cast<const std::uint8_t*>(coded.data());
  source_end_ = source_ + coded.size();
  end_ = buffer;
  limit_ = nullptr;
  stream_.start(buffer);
}

// What is left moves to the front, the next piece behind it.
bool CodedSegment::read_ahead() {
  if (source_ == source_end_) return false;
  std::uint8_t* const buffer = buffer_.get(kBufferBytes);
  const auto left = static_cast<std::size_t>(end_ - stream_.next);
  std::memmove(buffer, stream_.next, left);
  stream_.next = buffer;
  Unstuffing work = {source_, source_end_, buffer + left};
  const std::uint8_t* const stop = source_ + std::min<std::int64_t>(kPiece, source_end_ - source_);
  if (!(is_simd_ ? unstuff_avx2 : unstuff_generic)(work, stop)) return false;
  source_ = work.source;
  end_ = work.target;
  limit_ = source_ == source_end_ ? end_ + kAhead : end_ - kMcuReadAhead;
  return true;
}

bool CodedSegment::read(ReadMcus kernel, McuBlocks& blocks, std::int64_t num_mcus) {
  while (num_mcus > 0) {
    if (limit_ == nullptr && !read_ahead()) return false;
    const std::int64_t done = kernel(stream_, blocks, std::min(num_mcus, kMcusAtOnce), limit_);
    if (done < 0) return false;
    for (const std::int32_t dc : stream_.dc) {
      if (dc > kMaxDc || dc < -kMaxDc) return false;
    }
    num_mcus -= done;
    if (stream_.next > limit_ && num_mcus > 0 && !read_ahead()) return false;
  }
  return stream_.bits_taken(end_) <= 0;
}

bool CodedSegment::is_used_up() const {
  return source_ == source_end_ && stream_.bits_taken(end_) > -8;
}

}  // namespace dts
