// SPDX-License-Identifier: Apache-2.0
#include "jpeg/layout.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "jpeg/odd_images.h"
#include "jpeg/probe.h"
#include "jpeg/restart_scan.h"

namespace {

using dts::find_scan_end;
using dts::is_plain_header;
using dts::ScanEnd;
using dts::testing::Bytes;

}  // namespace

TEST_CASE("what lies around the first scan of the odd images") {
  int num_plain = 0;
  for (const auto& image : dts::testing::odd_images()) {
    if (!image.is_jpeg()) continue;
    CAPTURE(image.path);
    const auto info = dts::probe_jpeg(image.data);
    REQUIRE(info);
    const dts::ConstByteSpan data(image.data);
    const std::size_t coded =
        info->scan_start + 4 + std::to_integer<std::size_t>(data[info->scan_start + 4]) * 2 + 4;
    CHECK(is_plain_header(data.first(coded)));
    CHECK_FALSE(is_plain_header(data.first(coded - 1)));
    CHECK_FALSE(is_plain_header(data.first(coded + 1)));
    const ScanEnd end = find_scan_end(data.subspan(coded));
    num_plain += end == ScanEnd::kEoi;
    if (end == ScanEnd::kEoi) CHECK(dts::is_complete_jpeg(image.data));
    if (end == ScanEnd::kNone) CHECK_FALSE(dts::is_complete_jpeg(image.data));
  }
  CHECK(num_plain > 20);
}

TEST_CASE("a plain header is segments one behind the other") {
  const auto is_plain = [](std::vector<int> values) {
    Bytes data = {std::byte{0xFF}, std::byte{0xD8}};
    for (const int value : values) data.push_back(static_cast<std::byte>(value));
    data.shrink_to_fit();
    return is_plain_header(data);
  };
  CHECK(is_plain({0xFF, 0xFE, 0, 4, 1, 2, 0xFF, 0xDA, 0, 2}));
  CHECK(is_plain({0xFF, 0xFF, 0xFF, 0xFE, 0, 2, 0xFF, 0xFF, 0xDA, 0, 3, 0xFF}));
  CHECK(is_plain({0xFF, 0xE1, 0, 6, 0xFF, 0xD8, 0xFF, 0xD9}));
  CHECK_FALSE(is_plain({7, 0xFF, 0xFE, 0, 2}));  // a stray byte
  CHECK_FALSE(is_plain({0xFF, 0xFE, 0, 2, 7, 0xFF, 0xDA, 0, 2}));
  CHECK_FALSE(is_plain({0xFF, 0x00, 0xFF, 0xFE, 0, 2}));        // a stuffed one
  CHECK_FALSE(is_plain({0xFF, 0xFE, 0, 1, 0xFF, 0xDA, 0, 2}));  // a length below 2
  for (const int marker : {0x01, 0x02, 0xBF, 0xD0, 0xD7, 0xD8, 0xD9}) {
    CHECK_FALSE(is_plain({0xFF, marker, 0, 2}));
  }
  for (const int marker : {0xC0, 0xCF, 0xDA, 0xDD, 0xE0, 0xFE}) {
    CHECK(is_plain({0xFF, marker, 0, 2}));
  }
  CHECK_FALSE(is_plain({0xFF, 0xFE, 0, 3}));  // ends beyond the header
  CHECK_FALSE(is_plain({0xFF, 0xFE, 0}));
  CHECK_FALSE(is_plain({0xFF}));
}
