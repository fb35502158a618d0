// SPDX-License-Identifier: Apache-2.0
// shared_store_region.h for Linux; other systems have no memfd and get none.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // fallocate
#endif
#include <unistd.h>

#include "pipeline/shared_store_region.h"

#ifdef __linux__
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "pipeline/shared_store_handover.h"

// The C library may be older than these.
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define F_SEAL_SEAL 1
#define F_SEAL_SHRINK 2
#define F_SEAL_GROW 4
#endif
#endif  // __linux__

namespace dts {

std::uint32_t user_id() { return ::geteuid(); }

#ifdef __linux__
namespace {

constexpr unsigned kCloseOnExec = 1, kAllowSealing = 2, kNotExecutable = 8;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int kMaxTries = 100;

// Its size is what we expect and stays so: then no access to it can fail.
bool is_sealed_memory(int descriptor, std::size_t bytes) {
  struct stat state;
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & kSeals) == kSeals && ::fstat(descriptor, &state) == 0 &&
         S_ISREG(state.st_mode) && state.st_size == static_cast<off_t>(bytes);
}

Descriptor make_sealed_memory(std::size_t bytes) {
  // Growing beyond the limit on file sizes would be a signal.
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return Descriptor();
  const char* const name = "torch_dts";
  Descriptor memory(static_cast<int>(
      ::syscall(SYS_memfd_create, name, kCloseOnExec | kAllowSealing | kNotExecutable)));
  if (!memory.is_open() && errno == EINVAL) {  // a kernel before 6.3
    memory = Descriptor(
        static_cast<int>(::syscall(SYS_memfd_create, name, kCloseOnExec | kAllowSealing)));
  }
  if (!memory.is_open() || ::ftruncate(*memory, static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(*memory, F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) {
    return Descriptor();
  }
  return memory;
}

class MappedRegion : public SharedRegion {
 public:
  MappedRegion(Descriptor descriptor, std::byte* data, std::size_t bytes)
      : descriptor_(std::move(descriptor)), memory_(data, bytes) {}
  ~MappedRegion() override { ::munmap(memory_.data(), memory_.size()); }

  ByteSpan memory() const override { return memory_; }

  bool provide(std::size_t offset, std::size_t bytes) override {
    int result;
    do {
      result = ::fallocate(*descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
    } while (result != 0 && errno == EINTR);
    return result == 0;
  }

  // As HandoverServer::start.
  bool serve(const std::string& name, bool& is_taken) {
    server_ = HandoverServer::start(name, *descriptor_, is_taken);
    return server_ != nullptr;
  }

 private:
  const Descriptor descriptor_;
  const ByteSpan memory_;
  std::unique_ptr<HandoverServer> server_;  // goes first
};

std::shared_ptr<MappedRegion> map(Descriptor memory, std::size_t bytes) {
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, *memory, 0);
  if (data == MAP_FAILED) return nullptr;
  ::madvise(data, bytes, MADV_DONTDUMP);  // a data set is no part of a core dump
  return std::make_shared<MappedRegion>(std::move(memory), static_cast<std::byte*>(data), bytes);
}

}  // namespace

std::shared_ptr<SharedRegion> open_shared_region(const std::string& name, std::size_t bytes,
                                                 const std::function<void(ByteSpan)>& prepare) {
  if (bytes == 0) return nullptr;
  std::shared_ptr<MappedRegion> own;
  for (int tried = 0; tried < kMaxTries; ++tried) {
    Descriptor received;
    switch (ask_for_descriptor(name, received)) {
      case Handover::kReceived:
        return is_sealed_memory(*received, bytes) ? map(std::move(received), bytes) : nullptr;
      case Handover::kUnusable:
        return nullptr;
      case Handover::kNobody:
        break;
    }
    if (!own) {
      Descriptor memory = make_sealed_memory(bytes);
      if (memory.is_open()) own = map(std::move(memory), bytes);
      if (!own) return nullptr;
      prepare(own->memory());
    }
    bool is_taken = false;
    if (own->serve(name, is_taken)) return own;
    if (!is_taken) return nullptr;
    // Another process has just taken the name and does not listen yet, or is just going.
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return nullptr;
}

#else

std::shared_ptr<SharedRegion> open_shared_region(const std::string&, std::size_t,
                                                 const std::function<void(ByteSpan)>&) {
  return nullptr;
}

#endif  // __linux__

}  // namespace dts
