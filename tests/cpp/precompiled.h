// SPDX-License-Identifier: Apache-2.0
// What nearly every test file includes, compiled once (csrc/Makefile). Each file still
// includes what it uses: without this header everything compiles, only more slowly.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
