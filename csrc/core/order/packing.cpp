// SPDX-License-Identifier: Apache-2.0
#include "order/packing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "order/block_fill.h"
#include "order/shuffle.h"

namespace dts {
namespace {

constexpr std::uint64_t kIndexHeadBytes = 12, kIndexBytesPerSample = 12;
constexpr std::uint64_t kHeaderStep = 4096;

BlockLimits limits_of(std::uint64_t block_size, std::uint64_t header_size) {
  return {static_cast<std::int64_t>(block_size - header_size),
          static_cast<std::int64_t>((header_size - kIndexHeadBytes) / kIndexBytesPerSample)};
}

void check_header_size(const char* name, std::uint64_t header_size, std::uint64_t block_size) {
  if (header_size < kSampleAlignment || header_size % kSampleAlignment != 0 ||
      header_size >= block_size) {
    throw InvalidArgument(std::string(name) + " is " + std::to_string(header_size) +
                          ", expected a multiple of 64 below block_size " +
                          std::to_string(block_size));
  }
}

void check_block_size(std::uint64_t block_size) {
  if (block_size % kSampleAlignment != 0 || block_size == 0 ||
      block_size > std::uint64_t{1} << 32) {
    throw InvalidArgument("block_size is " + std::to_string(block_size) +
                          ", expected a multiple of 64 up to 2^32");
  }
}

void check_options(const PackingOptions& options) {
  check_block_size(options.block_size);
  if (options.block_header_size != 0) {
    check_header_size("block_header_size", options.block_header_size, options.block_size);
  } else {
    check_header_size("min_block_header_size", options.min_block_header_size, options.block_size);
  }
}

// Sizes as a block keeps them, by sample number.
std::vector<std::int64_t> pad_sizes(std::span<const std::int64_t> sizes, std::uint64_t block_size,
                                    std::uint64_t header_size) {
  const std::uint64_t capacity = block_size - header_size;
  std::vector<std::int64_t> padded;
  padded.reserve(sizes.size());
  for (const std::int64_t size : sizes) {
    if (size < 0) {
      throw InvalidArgument("sample " + std::to_string(padded.size()) + " has " +
                            std::to_string(size) + " bytes, expected >= 0");
    }
    if (static_cast<std::uint64_t>(size) > capacity) {
      throw InvalidArgument("sample " + std::to_string(padded.size()) + " has " +
                            std::to_string(size) + " bytes, but a block of block_size " +
                            std::to_string(block_size) + " holds at most " +
                            std::to_string(capacity) + "; choose a larger block_size");
    }
    padded.push_back(static_cast<std::int64_t>(align_up(static_cast<std::uint64_t>(size))));
  }
  return padded;
}

// Grows from the least size until the fullest block that the capacity allows finds room
// in the index, a sixteenth and some to spare (exchanges change a block's number).
std::uint32_t choose_header_size(std::span<const std::int64_t> padded,
                                 const PackingOptions& options) {
  const std::uint64_t least = options.min_block_header_size;
  if (padded.empty()) return options.min_block_header_size;
  const auto largest = static_cast<std::uint64_t>(*std::ranges::max_element(padded));
  const std::uint64_t spare = options.block_size - largest;
  const std::uint64_t most =
      std::max(least, std::min(spare, options.block_size / 4) / kHeaderStep * kHeaderStep);
  std::uint64_t header_size = least;
  while (header_size < most) {
    BlockLimits limits = limits_of(options.block_size, header_size);
    const std::int64_t room = limits.max_samples;
    limits.max_samples = std::numeric_limits<std::int64_t>::max();
    const std::vector<std::int64_t> counts = fill_in_order(padded, limits);
    const std::int64_t fullest = *std::ranges::max_element(counts);
    const std::int64_t wanted =
        std::min(static_cast<std::int64_t>(padded.size()), fullest + fullest / 16 + 16);
    if (wanted <= room) break;
    const std::uint64_t bytes =
        kIndexHeadBytes + kIndexBytesPerSample * static_cast<std::uint64_t>(wanted);
    header_size = std::min(most, align_up(bytes, kHeaderStep));
  }
  return static_cast<std::uint32_t>(header_size);
}

std::int64_t bound_of(std::span<const std::int64_t> padded, const BlockLimits& limits) {
  const std::int64_t sum = std::accumulate(padded.begin(), padded.end(), std::int64_t{0});
  const auto count = static_cast<std::int64_t>(padded.size());
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return a / b + (a % b != 0 ? 1 : 0); };
  return std::max(ceil_div(sum, limits.capacity), ceil_div(count, limits.max_samples));
}

// A list of samples, as two columns.
struct Deal {
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> padded;
};

Deal deal(std::span<const std::int64_t> padded, const PackingOptions& options) {
  Deal list{std::vector<std::int64_t>(padded.size()), {}};
  std::iota(list.order.begin(), list.order.end(), std::int64_t{0});
  if (options.shuffled) fisher_yates(list.order, options.seed);
  list.padded.reserve(padded.size());
  for (const std::int64_t number : list.order) {
    list.padded.push_back(padded[static_cast<std::size_t>(number)]);
  }
  return list;
}

}  // namespace

Packing pack_samples(std::span<const std::int64_t> sizes, const PackingOptions& options) {
  check_options(options);
  const bool is_chosen = options.block_header_size == 0;
  const std::vector<std::int64_t> padded =
      pad_sizes(sizes, options.block_size,
                is_chosen ? options.min_block_header_size : options.block_header_size);
  Deal list = deal(padded, options);

  Packing packing;
  packing.block_header_size =
      is_chosen ? choose_header_size(list.padded, options) : options.block_header_size;
  const BlockLimits limits = limits_of(options.block_size, packing.block_header_size);
  packing.block_counts = fill_in_order(list.padded, limits);
  // Where chance alone needs no block too many, nothing is exchanged.
  const auto num_blocks = static_cast<std::int64_t>(packing.block_counts.size());
  if (options.shuffled && num_blocks > bound_of(padded, limits)) {
    std::vector<std::int64_t> tight = fill_tightly(list.order, list.padded, limits, options.seed);
    if (tight.size() < packing.block_counts.size()) {
      packing.block_counts = std::move(tight);
    } else {
      list = deal(padded, options);
    }
  }
  packing.order = std::move(list.order);
  return packing;
}

std::int64_t packing_bound(std::span<const std::int64_t> sizes, std::uint64_t block_size,
                           std::uint32_t block_header_size) {
  check_block_size(block_size);
  check_header_size("block_header_size", block_header_size, block_size);
  return bound_of(pad_sizes(sizes, block_size, block_header_size),
                  limits_of(block_size, block_header_size));
}

}  // namespace dts
