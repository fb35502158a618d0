// SPDX-License-Identifier: Apache-2.0
// Replaces system calls of the file layer for the length of a scope.
#pragma once

#include "base/file_testing.h"

namespace dts::testing {

class FileCallsScope {
 public:
  FileCallsScope() : saved_(file_calls()) {}
  ~FileCallsScope() { file_calls() = saved_; }
  FileCallsScope(const FileCallsScope&) = delete;
  FileCallsScope& operator=(const FileCallsScope&) = delete;
  FileCalls* operator->() { return &file_calls(); }

 private:
  FileCalls saved_;
};

}  // namespace dts::testing
