// SPDX-License-Identifier: Apache-2.0
// The one test binary of the core. Test cases stand in the folders beside this file,
// which mirror csrc/core.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
