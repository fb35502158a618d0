// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include "base/process.h"
#include "support.h"

namespace dts {
namespace {

TEST_CASE("process: the number is the system's") { CHECK(process_id() == ::getpid()); }

TEST_CASE("process: a mark knows that a forked child is another process") {
  const ProcessMark mark;
  CHECK(mark.is_here());
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(mark.is_here() || !ProcessMark().is_here() ? 1 : 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(mark.is_here());
}

}  // namespace
}  // namespace dts
