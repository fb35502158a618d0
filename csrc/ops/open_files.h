// SPDX-License-Identifier: Apache-2.0
// The table of open .dts files and their pools of read handles: each op that reads
// borrows one, so threads never share a handle and none is opened twice for nothing.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "format/reader.h"
#include "ops/handles.h"

namespace dts::ops {

class OpenFile {
 public:
  explicit OpenFile(std::shared_ptr<DtsFile> file) : file_(std::move(file)) {}

  const DtsFile& file() const { return *file_; }

  // A read handle for the time of one op; checks that the file is still the same.
  class Borrowed {
   public:
    explicit Borrowed(OpenFile& owner);
    ~Borrowed();
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    const InputFile& operator*() const { return *handle_; }

   private:
    OpenFile& owner_;
    std::unique_ptr<InputFile> handle_;
  };

 private:
  std::shared_ptr<DtsFile> file_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<InputFile>> idle_;
};

HandleTable<OpenFile>& open_files();

}  // namespace dts::ops
