// SPDX-License-Identifier: Apache-2.0
// is_complete_jpeg, and both walks over cut and mutated files.
#include <algorithm>
#include <set>

#include "jpeg/odd_images.h"
#include "jpeg/probe.h"

namespace {

using dts::testing::Bytes;
using dts::testing::odd_image;
using dts::testing::odd_images;

// A copy of exactly this size, so that a sanitizer sees each read behind it.
Bytes prefix(const Bytes& data, std::size_t size) {
  return {data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size)};
}

void append(Bytes& data, std::initializer_list<int> values) {
  for (const int value : values) data.push_back(static_cast<std::byte>(value));
}

// Invariants of any bytes.
void check_walks(const Bytes& data) {
  std::uint64_t needed = 0;
  const auto info = dts::probe_jpeg(data, &needed);
  if (info) {
    CHECK(needed == 0);
    CHECK(info->num_components >= 1);
    CHECK((info->scan_start == 0 || info->scan_start + 1 < data.size()));
  } else {
    CHECK((needed == 0 || needed > data.size()));
  }
  if (dts::is_complete_jpeg(data)) CHECK(data.size() > 4);
}

}  // namespace

TEST_CASE("exactly the files without an end are incomplete") {
  const std::set<std::string> incomplete = {"tail/cut_at_60_percent.jpg", "tail/no_eoi.jpg"};
  for (const auto& image : odd_images()) {
    CAPTURE(image.path);
    if (image.is_jpeg())
      CHECK(dts::is_complete_jpeg(image.data) != incomplete.contains(image.path));
    if (image.pil["ok"].get<bool>() && !image.is_jpeg()) {
      CHECK_FALSE(dts::is_complete_jpeg(image.data));
    }
  }
  for (const std::string& path : incomplete) CHECK_FALSE(dts::is_complete_jpeg(odd_image(path)));
  CHECK_FALSE(dts::is_complete_jpeg(odd_image("names/really_text.jpg")));
  CHECK_FALSE(dts::is_complete_jpeg(odd_image("damage/junk_before_soi.jpg")));
  CHECK_FALSE(dts::is_complete_jpeg({}));
}

TEST_CASE("the end of a picture behind is not the end of one cut off") {
  Bytes data = odd_image("tail/no_eoi.jpg");
  const Bytes& next = odd_image("size/w1_h1.jpg");
  data.insert(data.end(), next.begin(), next.end());
  CHECK_FALSE(dts::is_complete_jpeg(data));
}

TEST_CASE("markers of coded data don't end it, and an end needs a scan") {
  Bytes head;
  append(head, {0xFF, 0xD8, 0xFF, 0xC0, 0, 11, 8, 0, 1, 0, 1, 1, 1, 0x11, 0});
  Bytes data = head;
  append(data, {0xFF, 0xD9});
  CHECK_FALSE(dts::is_complete_jpeg(data));

  data = head;
  append(data, {0xFF, 0xDA, 0, 8, 1, 1, 0, 0xFF, 0xD9, 0});  // the scan header's own bytes
  append(data, {0x11, 0xFF, 0x00, 0xD9, 0xFF, 0xD0, 0x22, 0xFF, 0xFF, 0xFF, 0x00, 0xFF, 0xD7});
  append(data, {0x33, 0xFF, 0x02, 0xFF, 0x01});  // reserved: damage; TEM
  append(data, {0xFF, 0xDC, 0, 4, 0xFF, 0xD9});  // DNL with the bytes of an end inside
  append(data, {0xFF, 0xDA, 0, 2, 0x44});        // a second scan
  CHECK_FALSE(dts::is_complete_jpeg(data));
  append(data, {0xFF, 0xFF, 0xD9});  // a fill byte
  CHECK(dts::is_complete_jpeg(data));
  append(data, {0xFF, 0xFF, 0x12});
  CHECK(dts::is_complete_jpeg(data));
}

TEST_CASE("every prefix of every JPEG: probed alike or cut off, complete from its end on") {
  for (const auto& image : odd_images()) {
    if (!image.is_jpeg()) continue;
    CAPTURE(image.path);
    const auto whole = dts::probe_jpeg(image.data);
    const std::size_t step = image.data.size() > 20000 ? 997 : 1;
    bool was_found = false;
    bool was_complete = false;
    for (std::size_t size = 0; size <= image.data.size(); size += step) {
      const Bytes data = prefix(image.data, size);
      std::uint64_t needed = 0;
      const auto info = dts::probe_jpeg(data, &needed);
      if (info) {
        REQUIRE(info->width == whole->width);
        REQUIRE(info->height == whole->height);
        REQUIRE((info->scan_start == 0 || info->scan_start == whole->scan_start));
      } else {
        REQUIRE(needed > size);
      }
      REQUIRE(!(was_found && !info));
      was_found = info.has_value();
      const bool is_complete = dts::is_complete_jpeg(data);
      REQUIRE(!(was_complete && !is_complete));
      was_complete = is_complete;
    }
    CHECK(was_found);
  }
  // The end of that file is where its garbage begins.
  const Bytes& data = odd_image("tail/garbage_after_eoi.jpg");
  const std::size_t end = data.size() - 5000;
  CHECK_FALSE(dts::is_complete_jpeg(prefix(data, end - 1)));
  CHECK(dts::is_complete_jpeg(prefix(data, end)));
}

TEST_CASE("mutated files are walked within their bounds") {
  std::uint64_t state = 1;
  const auto random = [&state](std::size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % below;
  };
  constexpr int kTelling[] = {0xFF, 0x00, 0xD8, 0xD9, 0xDA, 0xC0, 0xE1, 0xFE, 0xD0, 0x02};
  for (const auto& image : odd_images()) {
    if (!image.is_jpeg() || image.data.size() > 20000) continue;
    CAPTURE(image.path);
    for (int round = 0; round < 300; ++round) {
      Bytes data = prefix(image.data, 1 + random(image.data.size()));
      const std::size_t num_changes = 1 + random(8);
      for (std::size_t k = 0; k < num_changes; ++k) {
        // Mostly in the markers' part.
        const std::size_t at =
            random(random(2) == 0 ? data.size() : std::min<std::size_t>(data.size(), 200));
        data[at] = static_cast<std::byte>(random(2) == 0 ? kTelling[random(10)]
                                                         : static_cast<int>(random(256)));
      }
      check_walks(data);
    }
  }
}
