// SPDX-License-Identifier: Apache-2.0
// Known answers of tests/vectors (the folder comes in DTS_VECTORS), for the order tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "order/choices.h"

namespace dts::testing {

inline const nlohmann::json& vectors(const std::string& name) {
  static std::map<std::string, nlohmann::json> loaded;
  nlohmann::json& content = loaded[name];
  if (content.is_null()) {
    const char* folder = std::getenv("DTS_VECTORS");
    REQUIRE_MESSAGE(folder != nullptr, "DTS_VECTORS must name the folder tests/vectors");
    std::ifstream file(std::string(folder) + "/" + name);
    REQUIRE_MESSAGE(file.good(), "cannot read " << name);
    content = nlohmann::json::parse(file);
  }
  return content;
}

inline std::vector<std::int64_t> int64s(const nlohmann::json& list) {
  return list.get<std::vector<std::int64_t>>();
}

inline ChoiceKey choice_key(const nlohmann::json& entry) {
  return {.seed = entry["seed"].get<std::uint64_t>(),
          .epoch = entry["epoch"].get<std::uint32_t>(),
          .index = entry["index"].get<std::uint64_t>(),
          .view = entry["view"].get<std::uint32_t>(),
          .occurrence = entry["occurrence"].get<std::uint32_t>(),
          .op = entry["op"].get<std::uint32_t>()};
}

}  // namespace dts::testing
