// SPDX-License-Identifier: Apache-2.0
// base/file.h for POSIX systems; the one file of the core that calls the file system.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // fallocate
#endif
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/file_testing.h"

namespace dts {
namespace {

constexpr auto kMaxOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

int reserve_room([[maybe_unused]] int descriptor, [[maybe_unused]] off_t bytes) {
#ifdef __linux__
  // Not posix_fallocate: where the file system can't reserve, that one writes zeros.
  while (::fallocate(descriptor, 0, 0, bytes) != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
#else
  return EOPNOTSUPP;
#endif
}

int rename_unless_exists(const char* from, const char* to) {
#if defined(__linux__) && defined(SYS_renameat2)
  // By number: the C library's wrapper is younger than the systems we build for.
  constexpr unsigned kNoReplace = 1;
  if (::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, kNoReplace) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;
#endif
  if (::link(from, to) == 0) {
    ::unlink(from);
    return 0;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) return errno;
  // Neither call there (FAT, some network file systems): look, then rename.
  struct stat state;
  if (::lstat(to, &state) == 0) return EEXIST;
  if (errno != ENOENT) return errno;
  return ::rename(from, to) == 0 ? 0 : errno;
}

void check_path(const std::string& path) {
  if (path.empty()) throw InvalidArgument("the path is empty");
  if (path.find('\0') != std::string::npos) {
    throw InvalidArgument("the path holds a NUL byte, which no file name can");
  }
}

void require_regular(const struct stat& state, const std::string& path) {
  if (S_ISREG(state.st_mode)) return;
  if (S_ISDIR(state.st_mode)) throw IoError(EISDIR, path, "opening: a directory, not a file");
  const char* kind = S_ISFIFO(state.st_mode)   ? "FIFO"
                     : S_ISSOCK(state.st_mode) ? "socket"
                     : S_ISCHR(state.st_mode)  ? "character device"
                     : S_ISBLK(state.st_mode)  ? "block device"
                                               : "unknown kind";
  throw IoError(EINVAL, path, std::string("opening: not a regular file (") + kind + ")");
}

FileIdentity identity_of(const struct stat& state) {
#ifdef __APPLE__
  const struct timespec& changed = state.st_mtimespec;
#else
  const struct timespec& changed = state.st_mtim;
#endif
  return {static_cast<std::uint64_t>(state.st_dev), static_cast<std::uint64_t>(state.st_ino),
          static_cast<std::uint64_t>(state.st_size),
          std::int64_t{changed.tv_sec} * 1'000'000'000 + changed.tv_nsec};
}

// EEXIST, EISDIR or EINVAL where a file must not be put under this name. A symbolic link
// counts as an existing file; with `overwrite` the link itself is replaced, not what it
// points to.
void check_target(const std::string& target, bool overwrite) {
  struct stat state;
  if (::lstat(target.c_str(), &state) != 0) {
    if (errno == ENOENT) return;
    throw IoError(errno, target, "looking for an existing file");
  }
  if (::stat(target.c_str(), &state) == 0) require_regular(state, target);
  if (!overwrite) {
    throw IoError(EEXIST, target, "writing: the file exists already and is not to be overwritten");
  }
}

bool names_open_file(const std::string& path, int descriptor) {
  struct stat named;
  struct stat open;
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(descriptor, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

// Opens (or creates) `path` and takes its lock; no lock where the file system has none.
int open_locked(const std::string& path) {
  for (;;) {
    const int descriptor = ::open(
        path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0666);
    if (descriptor < 0) {
      if (errno == EINTR) continue;
      throw IoError(errno, path, "opening for writing");
    }
    try {
      struct stat state;
      if (::fstat(descriptor, &state) != 0) {
        throw IoError(errno, path, "asking for the state of the file");
      }
      require_regular(state, path);
      int locked;
      do {
        locked = ::flock(descriptor, LOCK_EX | LOCK_NB);
      } while (locked != 0 && errno == EINTR);
      if (locked != 0 && errno == EWOULDBLOCK) {
        throw IoError(EWOULDBLOCK, path, "locking: another process is writing this file");
      }
    } catch (...) {
      ::close(descriptor);
      throw;
    }
    // The writer before us may have renamed or removed the file that we opened before we
    // had its lock; then the name stands for another file or none.
    if (names_open_file(path, descriptor)) return descriptor;
    ::close(descriptor);
  }
}

// Reads until `out` is full or the file ends; returns the bytes read.
std::size_t read_pieces(int descriptor, const std::string& path, std::uint64_t offset,
                        ByteSpan out) {
  if (offset > kMaxOffset) return 0;  // no file reaches that far
  out = out.first(std::min<std::uint64_t>(out.size(), kMaxOffset - offset));
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t wanted = std::min(out.size() - done, kReadPieceBytes);
    const ssize_t got = file_calls().pread(descriptor, out.data() + done, wanted,
                                           static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      throw IoError(errno, path,
                    "reading " + std::to_string(wanted) + " bytes at offset " +
                        std::to_string(offset + done));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void cut(int descriptor, const std::string& path, std::uint64_t size) {
  if (size > kMaxOffset) throw IoError(EFBIG, path, "setting the length of the file");
  if (::ftruncate(descriptor, static_cast<off_t>(size)) != 0) {
    throw IoError(errno, path, "setting the length of the file");
  }
}

void sync_descriptor(int descriptor, const std::string& path) {
  while (file_calls().fsync(descriptor) != 0) {
    if (errno != EINTR) throw IoError(errno, path, "flushing to the disk");
  }
}

// Makes the rename itself durable; not every file system can.
void sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (descriptor < 0) return;  // a folder one may write to but not list
  const int code = file_calls().fsync(descriptor) == 0 ? 0 : errno;
  ::close(descriptor);
  if (code != 0 && code != EINVAL && code != ENOTSUP && code != EROFS && code != EINTR) {
    throw IoError(code, folder, "flushing the folder to the disk");
  }
}

}  // namespace

FileCalls& file_calls() {
  static FileCalls calls{::pread, ::pwrite, ::fsync, reserve_room, rename_unless_exists};
  return calls;
}

// ---- reading ------------------------------------------------------------------

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  check_path(path_);
  do {
    // O_NONBLOCK so that opening a FIFO without a writer returns; it changes nothing
    // for regular files.
    descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  } while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) throw IoError(errno, path_, "opening for reading");
  struct stat state;
  if (::fstat(descriptor_, &state) != 0) {
    const int code = errno;
    ::close(descriptor_);
    throw IoError(code, path_, "asking for the state of the file");
  }
  try {
    require_regular(state, path_);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

std::size_t InputFile::read_some(std::uint64_t offset, ByteSpan out) const {
  return read_pieces(descriptor_, path_, offset, out);
}

void InputFile::read_exact(std::uint64_t offset, ByteSpan out) const {
  const std::size_t got = read_some(offset, out);
  if (got == out.size()) return;
  const std::uint64_t end = got > 0 ? offset + got : std::min(offset, identity().size);
  throw CorruptFile(path_, static_cast<std::int64_t>(end),
                    "the file ends at byte " + std::to_string(end) + ", but " +
                        std::to_string(out.size()) + " bytes at offset " + std::to_string(offset) +
                        " are expected");
}

FileIdentity InputFile::identity() const {
  struct stat state;
  if (::fstat(descriptor_, &state) != 0) {
    throw IoError(errno, path_, "asking for the state of the file");
  }
  return identity_of(state);
}

// ---- writing ------------------------------------------------------------------

OutputFile::OutputFile(std::string target, bool overwrite, bool resume)
    : target_(std::move(target)),
      partial_(target_ + ".partial"),
      overwrite_(overwrite),
      resume_(resume) {
  check_path(target_);
  check_target(target_, overwrite_);
  owner_process_ = ::getpid();
  descriptor_ = open_locked(partial_);
  try {
    // Another writer may have finished between the first look and our lock.
    check_target(target_, overwrite_);
    if (!resume && ::ftruncate(descriptor_, 0) != 0) {
      throw IoError(errno, partial_, "emptying the file");
    }
  } catch (...) {
    remove_partial();
    throw;
  }
}

OutputFile::~OutputFile() { remove_partial(); }

void OutputFile::remove_partial() noexcept {
  if (descriptor_ < 0) return;
  // A forked child holds a copy of this object; the file is its parent's.
  if (!committed_ && !resume_ && owner_process_ == ::getpid() &&
      names_open_file(partial_, descriptor_)) {
    ::unlink(partial_.c_str());
  }
  ::close(std::exchange(descriptor_, -1));
}

void OutputFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return;
  if (bytes > kMaxOffset) throw IoError(EFBIG, partial_, "reserving room");
  const int code = file_calls().reserve(descriptor_, static_cast<off_t>(bytes));
  if (code == ENOSPC || code == EFBIG || code == EDQUOT) {
    throw IoError(code, partial_, "reserving " + std::to_string(bytes) + " bytes");
  }
}

void OutputFile::write_at(std::uint64_t offset, ConstByteSpan data) {
  if (offset > kMaxOffset || data.size() > kMaxOffset - offset) {
    throw IoError(EFBIG, partial_, "writing at offset " + std::to_string(offset));
  }
  std::size_t done = 0;
  while (done < data.size()) {
    const std::size_t wanted = std::min(data.size() - done, kWritePieceBytes);
    const ssize_t got = file_calls().pwrite(descriptor_, data.data() + done, wanted,
                                            static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      throw IoError(got < 0 ? errno : EIO, partial_,
                    "writing " + std::to_string(wanted) + " bytes at offset " +
                        std::to_string(offset + done));
    }
    done += static_cast<std::size_t>(got);
  }
}

std::size_t OutputFile::read_some(std::uint64_t offset, ByteSpan out) const {
  return read_pieces(descriptor_, partial_, offset, out);
}

void OutputFile::resize(std::uint64_t size) { cut(descriptor_, partial_, size); }

void OutputFile::commit(std::uint64_t size) {
  seal(size);
  publish();
}

void OutputFile::seal(std::uint64_t size) {
  cut(descriptor_, partial_, size);
  sync_descriptor(descriptor_, partial_);
}

void OutputFile::publish() {
  if (!names_open_file(partial_, descriptor_)) {
    throw IoError(ENOENT, partial_, "renaming: the file was moved or removed while it was written");
  }
  if (overwrite_) {
    check_target(target_, true);
    if (::rename(partial_.c_str(), target_.c_str()) != 0) {
      throw IoError(errno, target_, "renaming the finished file");
    }
  } else if (const int code = file_calls().rename_exclusive(partial_.c_str(), target_.c_str())) {
    throw IoError(code, target_,
                  code == EEXIST ? "renaming the finished file: the target appeared meanwhile"
                                 : "renaming the finished file");
  }
  committed_ = true;
  sync_folder_of(target_);
}

}  // namespace dts
