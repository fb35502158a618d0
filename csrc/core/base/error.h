// SPDX-License-Identifier: Apache-2.0
// The four kinds of failure the core throws. It throws nothing else of its own
// (std::bad_alloc aside), never prints and never aborts.
//
// Messages carry the value found, the limit and the place; the path travels as
// a separate field because file names are bytes and need not be UTF-8.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace dts {

// A caller's argument is wrong. Python: ValueError.
struct InvalidArgument : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// An index is outside of its range. Python: IndexError.
struct OutOfRange : std::out_of_range {
  using std::out_of_range::out_of_range;
};

// The operating system refused. Python: OSError with this errno and path.
// `what()` says what was being done, without path or errno text.
struct IoError : std::runtime_error {
  IoError(int code, std::string path, const std::string& doing)
      : std::runtime_error(doing), code(code), path(std::move(path)) {}
  int code;
  std::string path;
};

// A file's content is not what the format says. Python: CorruptFileError.
// `offset`: byte position in the file where the fault lies, -1 when there is none.
// `what()` says what was found and what was expected, without the path.
struct CorruptFile : std::runtime_error {
  CorruptFile(std::string path, std::int64_t offset, const std::string& problem)
      : std::runtime_error(problem), path(std::move(path)), offset(offset) {}
  std::string path;
  std::int64_t offset;
};

}  // namespace dts
