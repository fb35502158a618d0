// SPDX-License-Identifier: Apache-2.0
// The table of open data sets, a .dts file or the volumes of a set each, and their pools of
// read handles: each op that reads borrows some, so threads never share a handle and none is
// opened twice for nothing.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "format/volume_set.h"
#include "ops/handles.h"

namespace dts::ops {

class OpenFile {
 public:
  explicit OpenFile(std::shared_ptr<VolumeSet> set) : set_(std::move(set)) {}

  const VolumeSet& set() const { return *set_; }
  // OutOfRange: the set has none of that number.
  const DtsFile& volume(std::int64_t number) const;

  // Read handles for the time of one op. Reading by them compares the file with what it was.
  class Borrowed {
   public:
    explicit Borrowed(OpenFile& owner);
    ~Borrowed();
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    VolumeHandles& operator*() const { return *handles_; }

   private:
    OpenFile& owner_;
    std::unique_ptr<VolumeHandles> handles_;
  };

 private:
  std::shared_ptr<VolumeSet> set_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<VolumeHandles>> idle_;
};

HandleTable<OpenFile>& open_files();

}  // namespace dts::ops
