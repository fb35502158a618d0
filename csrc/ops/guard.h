// SPDX-License-Identifier: Apache-2.0
// Carries the core's own error kinds across torch's dispatcher. std::invalid_argument
// and std::out_of_range become ValueError and IndexError by themselves; IoError and
// CorruptFile travel as a tagged std::runtime_error that torch_dts/_native turns
// into OSError and CorruptFileError. Paths are escaped (paths.h), so the text is ASCII.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/error.h"
#include "ops/paths.h"

namespace dts::ops {

template <class Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return std::forward<Function>(function)();
  } catch (const IoError& error) {
    throw std::runtime_error("torch_dts.IoError|" + std::to_string(error.code) + "|" +
                             escape_path(error.path) + "|" + error.what());
  } catch (const CorruptFile& error) {
    throw std::runtime_error("torch_dts.CorruptFile|" + std::to_string(error.offset) + "|" +
                             escape_path(error.path) + "|" + error.what());
  }
}

}  // namespace dts::ops
