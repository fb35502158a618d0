// SPDX-License-Identifier: Apache-2.0
// Which process this is. An object that owns threads asks: in a forked child its copy must
// not wait for threads that only the parent has.
#pragma once

#include <cstdint>

namespace dts {

std::int64_t process_id();

// Remembers the process it was made in.
class ProcessMark {
 public:
  ProcessMark() : process_(process_id()) {}
  bool is_here() const { return process_ == process_id(); }

 private:
  std::int64_t process_;
};

}  // namespace dts
