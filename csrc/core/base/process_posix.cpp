// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "base/process.h"

namespace dts {

std::int64_t process_id() { return ::getpid(); }

}  // namespace dts
