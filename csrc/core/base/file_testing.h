// SPDX-License-Identifier: Apache-2.0
// For tests only: the system calls of file_posix.cpp that a test may replace, to see
// what an interrupted read, a short read, a bad sector or a full disk leads to.
// Not thread-safe: set before any other thread uses a file, and set back afterwards.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace dts {

struct FileCalls {
  ssize_t (*pread)(int descriptor, void* buffer, std::size_t count, off_t offset);
  ssize_t (*pwrite)(int descriptor, const void* buffer, std::size_t count, off_t offset);
  int (*fsync)(int descriptor);
  // Room for [0, bytes); 0 or an errno value.
  int (*reserve)(int descriptor, off_t bytes);
  // Gives `from` the name `to` unless that exists; 0 or an errno value.
  int (*rename_exclusive)(const char* from, const char* to);
};

// The calls in force; starts with the platform's own.
FileCalls& file_calls();

}  // namespace dts
