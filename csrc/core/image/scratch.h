// SPDX-License-Identifier: Apache-2.0
// Memory for vector loads and stores that is kept from call to call. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace dts {

class Scratch {
 public:
  // At least `bytes` bytes, aligned to 64, valid until the next call. Every byte was
  // written at some time (0 at first); what it holds now is anything.
  std::uint8_t* get(std::size_t bytes) {
    if (bytes > bytes_) {
      data_.reset();
      bytes_ = 0;
      data_.reset(static_cast<std::uint8_t*>(::operator new(bytes, kAlignment)));
      bytes_ = bytes;
      std::memset(data_.get(), 0, bytes);
    }
    return data_.get();
  }
  std::size_t bytes() const { return bytes_; }
  void release() {
    data_.reset();
    bytes_ = 0;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Delete {
    void operator()(std::uint8_t* data) const { ::operator delete(data, kAlignment); }
  };
  std::unique_ptr<std::uint8_t, Delete> data_;
  std::size_t bytes_ = 0;
};

}  // namespace dts
