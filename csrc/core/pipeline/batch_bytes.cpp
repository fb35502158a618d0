// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch_bytes.h"

#include <algorithm>
#include <new>

namespace dts {
namespace {

// A range this much larger than what was needed goes: one batch of huge images is no rule.
constexpr std::size_t kTooMany = 4;
constexpr std::size_t kAlwaysKept = std::size_t{16} << 20;

}  // namespace

ByteSpan BatchBytes::allocate(std::size_t bytes) {
  // Sizes are of pieces of memory that exist: their sum is far below 2^64.
  const std::size_t taken = align_up(std::max<std::size_t>(bytes, 1));
  const std::size_t start = asked_.fetch_add(taken, std::memory_order_relaxed);
  if (start + taken <= capacity_) return {range_.get() + start, bytes};
  const std::lock_guard lock(mutex_);
  return beyond_.allocate(taken).first(bytes);
}

void BatchBytes::clear() noexcept {
  const std::size_t needed = asked_.exchange(0, std::memory_order_relaxed);
  beyond_.release();
  const bool is_too_large = capacity_ > kAlwaysKept && capacity_ / kTooMany > needed;
  if (needed <= capacity_ && !is_too_large) return;
  range_.reset();
  capacity_ = 0;
  // Batches differ a little, and the largest so far is soon passed.
  const std::size_t wanted = needed + needed / 8;
  try {
    range_ = make_large(wanted);
    capacity_ = wanted;
  } catch (const std::bad_alloc&) {
    // Each piece will be asked for by itself, and say so where there is no room for it.
  }
}

std::size_t BatchBytes::held_bytes() const { return capacity_ + beyond_.held_bytes(); }

}  // namespace dts
