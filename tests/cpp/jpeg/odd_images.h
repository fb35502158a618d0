// SPDX-License-Identifier: Apache-2.0
// The files of tests/odd_images (found beside DTS_VECTORS) and what PIL says of them.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace dts::testing {

using Bytes = std::vector<std::byte>;

inline Bytes read_test_file(const std::string& path) {
  const char* vectors = std::getenv("DTS_VECTORS");
  REQUIRE_MESSAGE(vectors != nullptr, "DTS_VECTORS must name the folder tests/vectors");
  std::ifstream file(std::string(vectors) + "/../odd_images/" + path, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "cannot read " << path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

struct OddImage {
  std::string path;
  Bytes data;
  nlohmann::json pil;
  bool is_jpeg() const {
    const std::string format = pil.value("format", "");
    return format == "JPEG" || format == "MPO";
  }
};

inline const std::vector<OddImage>& odd_images() {
  static const std::vector<OddImage> images = [] {
    const Bytes text = read_test_file("expected.json");
    const auto* first = reinterpret_cast<const char*>(text.data());
    std::vector<OddImage> list;
    const nlohmann::json expected = nlohmann::json::parse(first, first + text.size());
    for (const auto& sample : expected["samples"]) {
      const std::string path = sample["path"].get<std::string>();
      list.push_back({path, read_test_file("images/" + path), sample["pil"]});
    }
    return list;
  }();
  return images;
}

inline const Bytes& odd_image(const std::string& path) {
  for (const OddImage& image : odd_images()) {
    if (image.path == path) return image.data;
  }
  FAIL("no odd image " << path);
  std::abort();
}

}  // namespace dts::testing
