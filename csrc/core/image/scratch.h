// SPDX-License-Identifier: Apache-2.0
// Memory for vector loads and stores that is kept from call to call. What must grow grows by
// more than it must, so that sizes which vary soon ask for nothing. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace dts {

// What to ask for where `bytes` are needed: a quarter more, but at most 1 MiB more.
constexpr std::size_t with_room(std::size_t bytes) {
  return bytes + std::min(bytes / 4, std::size_t{1} << 20);
}

// As `values->resize(size)`, with room when it must grow; new values are anything.
template <class T>
void resize_with_room(std::vector<T>* values, std::size_t size) {
  if (size > values->capacity()) {
    values->clear();  // nothing to copy
    values->reserve(with_room(size * sizeof(T)) / sizeof(T));
  }
  values->resize(size);
}

class Scratch {
 public:
  // At least `bytes` bytes, aligned to 64, valid until the next call. Every byte was
  // written at some time (0 at first); what it holds now is anything.
  std::uint8_t* get(std::size_t bytes) {
    if (bytes > bytes_) {
      data_.reset();
      bytes_ = 0;
      const std::size_t asked = with_room(bytes);
      data_.reset(static_cast<std::uint8_t*>(::operator new(asked, kAlignment)));
      bytes_ = asked;
      std::memset(data_.get(), 0, asked);
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
