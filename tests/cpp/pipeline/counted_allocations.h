// SPDX-License-Identifier: Apache-2.0
// How often memory is asked for: operator new of the whole test binary counts its calls, in
// all threads. What C libraries take by malloc is not counted.
#pragma once

#include <cstdint>

namespace dts::testing {

// Calls of operator new since the program began.
std::int64_t num_allocations();

}  // namespace dts::testing
