// SPDX-License-Identifier: Apache-2.0
// Memory that processes of one user share by a name, without a name in any file system: a
// memfd, sealed against another size, which the process that made it hands over an
// abstract unix socket. It is gone with the last process that has it. While the maker lives,
// newcomers get its region; when it is gone they make a new one, and who has the old one
// keeps it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"

namespace dts {

class SharedRegion {
 public:
  virtual ~SharedRegion() = default;

  virtual ByteSpan memory() const = 0;
  // Makes sure that these bytes can be written; false: there is no memory for them.
  virtual bool provide(std::size_t offset, std::size_t bytes) = 0;
};

// The region of `bytes` bytes that is named `name`, at most 90 characters; made (zeros, then
// `prepare`, before any other process sees it) where there is none. null: not possible here
// (another system, no memfd, limits, somebody else's region of that name, one of another
// size). Owns a thread that hands the region over, if it made it. Thread-safe.
std::shared_ptr<SharedRegion> open_shared_region(const std::string& name, std::size_t bytes,
                                                 const std::function<void(ByteSpan)>& prepare);

// The user who owns this process: part of the names.
std::uint32_t user_id();

}  // namespace dts
