// SPDX-License-Identifier: Apache-2.0
#include "jpeg/restart_scan.h"

#include <limits>

#include "jpeg/restart_scan_kernels.h"

namespace dts {
namespace {

constexpr std::uint8_t kEoi = 0xD9;

MarkerSearch search_of(ConstByteSpan coded) {
  MarkerSearch search;
  search.data = reinterpret_cast<const std::uint8_t*>(coded.data());
  search.size = coded.size();
  return search;
}

void run(MarkerSearch& search, SimdLevel level) {
  if (level == SimdLevel::kGeneric) return search_markers_generic(search);
  search_markers_avx2(search);
}

bool is_at_end(const MarkerSearch& search) {
  return search.position < search.size && search.data[search.position + 1] == kEoi;
}

}  // namespace

ScanEnd find_scan_end(ConstByteSpan coded, SimdLevel level) {
  MarkerSearch search = search_of(coded);
  run(search, level);
  if (is_at_end(search)) return ScanEnd::kEoi;
  return search.position < search.size ? ScanEnd::kMarker : ScanEnd::kNone;
}

std::optional<std::size_t> find_restarts(ConstByteSpan coded, std::span<std::uint32_t> restarts,
                                         SimdLevel level) {
  if (coded.size() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  MarkerSearch search = search_of(coded);
  std::uint32_t none = 0;  // null would let any RSTn pass
  search.restarts = restarts.empty() ? &none : restarts.data();
  search.capacity = restarts.size();
  run(search, level);
  if (!is_at_end(search) || search.count != restarts.size()) return std::nullopt;
  return search.position;
}

}  // namespace dts
