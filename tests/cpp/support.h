// SPDX-License-Identifier: Apache-2.0
// What the test cases share: folders that vanish, raw access to files, and errors as values.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace dts::testing {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  const auto* at = reinterpret_cast<const std::byte*>(text.data());
  return {at, at + text.size()};
}

inline std::string text_of(ConstByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Bytes that repeat nowhere near, different for each `seed`.
inline Bytes noise(std::size_t size, std::uint32_t seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761u + 12345u;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

// A new folder, removed with all it holds at the end of the scope.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "dts_test_XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }
  // Names of what the folder holds, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

// Writes `data` into the file at `offset`; creates it, leaves the rest as it is.
inline void patch(const std::string& path, std::uint64_t offset, ConstByteSpan data) {
  const int descriptor = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
  REQUIRE(descriptor >= 0);
  const ssize_t written =
      ::pwrite(descriptor, data.data(), data.size(), static_cast<off_t>(offset));
  ::close(descriptor);
  REQUIRE(written == static_cast<ssize_t>(data.size()));
}

template <class T>
void patch_value(const std::string& path, std::uint64_t offset, T value) {
  Bytes bytes(sizeof(T));
  store_le(bytes.data(), value);
  patch(path, offset, bytes);
}

inline void set_size(const std::string& path, std::uint64_t size) {
  REQUIRE(::truncate(path.c_str(), static_cast<off_t>(size)) == 0);
}

inline std::uint64_t size_of(const std::string& path) { return std::filesystem::file_size(path); }

inline Bytes read_range(const std::string& path, std::uint64_t offset, std::size_t size) {
  Bytes bytes(size);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(descriptor >= 0);
  const ssize_t got = ::pread(descriptor, bytes.data(), size, static_cast<off_t>(offset));
  ::close(descriptor);
  REQUIRE(got == static_cast<ssize_t>(size));
  return bytes;
}

// The error of this type that `action` throws; a failure when it throws none.
template <class Error, class Action>
Error thrown(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    FAIL("another error was thrown: " << error.what());
  }
  FAIL("nothing was thrown");
  std::abort();  // FAIL does not return
}

template <class Action>
void check_corrupt(const Action& action, std::int64_t offset, const std::string& message) {
  const auto error = thrown<CorruptFile>(action);
  CHECK(std::string(error.what()) == message);
  CHECK(error.offset == offset);
}

template <class Action>
void check_io(const Action& action, int code, const std::string& path, const std::string& message) {
  const auto error = thrown<IoError>(action);
  CHECK(std::string(error.what()) == message);
  CHECK(error.code == code);
  CHECK(error.path == path);
}

template <class Error, class Action>
void check_message(const Action& action, const std::string& message) {
  CHECK(std::string(thrown<Error>(action).what()) == message);
}

// A file of the repository's tests/vectors.
inline std::string vector_path(const std::string& name) {
  const char* folder = std::getenv("DTS_VECTORS");
  REQUIRE_MESSAGE(folder != nullptr, "DTS_VECTORS is not set; run make test");
  return std::string(folder) + "/" + name;
}

}  // namespace dts::testing
