// SPDX-License-Identifier: Apache-2.0
#include "pipeline/shared_store.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <new>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "pipeline/shared_store_region.h"

#ifdef __SANITIZE_THREAD__
// Does not see that a timed lock whose holder died has been taken, and has to be told.
extern "C" void __tsan_mutex_pre_lock(void* mutex, unsigned flags);
extern "C" void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion);
#endif

namespace dts {
namespace {

#ifdef __linux__

constexpr std::uint64_t kMagic = 0x31524F5453535444;  // "DTSSTOR1"
#ifdef __GLIBC__
constexpr std::uint32_t kLibrary = 1;
#else
constexpr std::uint32_t kLibrary = 2;
#endif
constexpr std::size_t kPageBytes = 4096;
// Between two looks at the reader's stop flag, while another process reads the block.
constexpr std::int64_t kStepMs = 100;

enum Phase : std::uint32_t { kAbsent, kBegun, kReady };

// Locks of two C libraries, or of two layouts, are not to be mixed.
struct Head {
  std::uint64_t magic = kMagic;
  std::uint32_t library = kLibrary;
  std::uint32_t state_bytes = 0;
  std::int64_t num_blocks = 0;
  std::int64_t block_bytes = 0;
  bool operator==(const Head&) const = default;
};

struct alignas(kSampleAlignment) BlockState {
  pthread_mutex_t mutex;  // robust: held while the block is read
  std::atomic<std::uint32_t> phase;
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

struct Layout {
  Layout(std::int64_t num_blocks, std::int64_t block_bytes)
      : head{kMagic, kLibrary, sizeof(BlockState), num_blocks, block_bytes},
        payload(
            align_up(kSampleAlignment + static_cast<std::uint64_t>(num_blocks) * sizeof(BlockState),
                     kPageBytes)),
        bytes(payload + static_cast<std::uint64_t>(num_blocks * block_bytes)) {}
  Head head;
  std::uint64_t payload;  // where block 0 begins
  std::uint64_t bytes;

  static BlockState* states(ByteSpan memory) {
    return reinterpret_cast<BlockState*>(memory.data() + kSampleAlignment);
  }
};
static_assert(sizeof(Head) <= kSampleAlignment);

void prepare(ByteSpan memory, const Layout& layout) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  for (std::int64_t block = 0; block < layout.head.num_blocks; ++block) {
    BlockState* const state = new (Layout::states(memory) + block) BlockState;
    pthread_mutex_init(&state->mutex, &attributes);
    state->phase = kAbsent;
  }
  pthread_mutexattr_destroy(&attributes);
  new (memory.data()) Head(layout.head);
}

class SharedStore : public BlockStore {
 public:
  SharedStore(std::shared_ptr<SharedRegion> region, const Layout& layout, std::int64_t patience_ms)
      : region_(std::move(region)),
        layout_(layout),
        patience_ms_(patience_ms),
        states_(Layout::states(region_->memory())),
        own_(make_private_store(layout.head.num_blocks, layout.head.block_bytes)) {}

  ConstByteSpan find(std::int64_t block) override {
    const ConstByteSpan own = own_->find(block);  // checks the number
    return own.empty() && is_ready(block) ? place_of(block) : own;
  }

  ConstByteSpan load(std::int64_t block, const SampleSource& source, bool check,
                     ReaderState& reader) override {
    if (const ConstByteSpan found = find(block); !found.empty()) return found;
    BlockState& state = states_[block];
    switch (lock(state, reader)) {
      case Locked::kYes:
        break;
      case Locked::kStopped:
        return {};
      case Locked::kNo:
        return own_->load(block, source, check, reader);
    }
    if (is_ready(block)) {
      pthread_mutex_unlock(&state.mutex);
      return place_of(block);
    }
    if (!region_->provide(offset_of(block), block_bytes())) {
      pthread_mutex_unlock(&state.mutex);
      return own_->load(block, source, check, reader);
    }
    state.phase = kBegun;
    bool is_whole = false;
    try {
      // Others rely on what is found here: checked, whether this process cares or not.
      is_whole = source.read_block(block, place_of(block), true, reader);
    } catch (...) {
      state.phase = kAbsent;
      pthread_mutex_unlock(&state.mutex);
      try {
        throw;
      } catch (const CorruptFile&) {
        if (check) throw;
      }
      return own_->load(block, source, check, reader);
    }
    state.phase.store(is_whole ? kReady : kAbsent, std::memory_order_release);
    pthread_mutex_unlock(&state.mutex);
    return is_whole ? place_of(block) : ByteSpan();
  }

  std::int64_t next_absent() override {
    const std::lock_guard guard(mutex_);
    const std::int64_t num_blocks = layout_.head.num_blocks;
    for (const bool is_second_round : {false, true}) {
      for (std::int64_t tried = 0; tried < num_blocks; ++tried) {
        const std::int64_t block = cursor_;
        cursor_ = (cursor_ + 1) % num_blocks;
        if (!own_->find(block).empty()) continue;
        if (states_[block].phase == kAbsent) return block;
        if (is_second_round && was_left_behind(states_[block])) return block;
      }
    }
    return -1;
  }

  bool is_complete() override {
    // Blocks become ready and stay so: each is looked at until it is, and then no more.
    std::int64_t block = num_complete_;
    while (block < layout_.head.num_blocks && !find(block).empty()) ++block;
    num_complete_ = block;
    return block == layout_.head.num_blocks;
  }

  bool is_shared() const override { return true; }

  std::int64_t num_held_blocks() const override {
    std::int64_t total = own_->num_held_blocks();
    for (std::int64_t block = 0; block < layout_.head.num_blocks; ++block) {
      if (is_ready(block) && own_->find(block).empty()) ++total;
    }
    return total;
  }
  std::int64_t held_bytes() const override { return num_held_blocks() * layout_.head.block_bytes; }

 private:
  enum class Locked { kYes, kNo, kStopped };

  // The holder died: the lock is whole again, and the block was not finished.
  static bool take_over(BlockState& state) {
    if (pthread_mutex_consistent(&state.mutex) != 0) return false;
    std::uint32_t begun = kBegun;
    state.phase.compare_exchange_strong(begun, kAbsent);
    return true;
  }

  Locked lock(BlockState& state, const ReaderState& reader) const {
    for (std::int64_t waited_ms = 0; waited_ms < patience_ms_; waited_ms += kStepMs) {
      timespec until{};
      ::clock_gettime(CLOCK_REALTIME, &until);
      const long ns = until.tv_nsec + 1'000'000 * std::min(kStepMs, patience_ms_ - waited_ms);
      until.tv_sec += ns / 1'000'000'000;
      until.tv_nsec = ns % 1'000'000'000;
      const int code = pthread_mutex_timedlock(&state.mutex, &until);
      if (code == 0) return Locked::kYes;
      if (code == EOWNERDEAD) {
#ifdef __SANITIZE_THREAD__
        __tsan_mutex_pre_lock(&state.mutex, 0);
        __tsan_mutex_post_lock(&state.mutex, 0, 0);
#endif
        return take_over(state) ? Locked::kYes : Locked::kNo;
      }
      if (code != ETIMEDOUT) return Locked::kNo;
      if (reader.is_stopped()) return Locked::kStopped;
    }
    return Locked::kNo;
  }

  // Whether a block that was begun has nobody any more who reads it.
  static bool was_left_behind(BlockState& state) {
    if (state.phase != kBegun) return false;
    const int code = pthread_mutex_trylock(&state.mutex);
    if (code != 0 && (code != EOWNERDEAD || !take_over(state))) return false;
    const bool is_absent = state.phase == kAbsent;
    pthread_mutex_unlock(&state.mutex);
    return is_absent;
  }

  bool is_ready(std::int64_t block) const {
    return states_[block].phase.load(std::memory_order_acquire) == kReady;
  }
  std::size_t block_bytes() const { return static_cast<std::size_t>(layout_.head.block_bytes); }
  std::size_t offset_of(std::int64_t block) const {
    return layout_.payload + static_cast<std::size_t>(block) * block_bytes();
  }
  ByteSpan place_of(std::int64_t block) const {
    return region_->memory().subspan(offset_of(block), block_bytes());
  }

  const std::shared_ptr<SharedRegion> region_;
  const Layout layout_;
  const std::int64_t patience_ms_;
  BlockState* const states_;
  const std::shared_ptr<BlockStore> own_;  // blocks that could not be read to the region
  std::mutex mutex_;
  std::int64_t cursor_ = 0;
  std::atomic<std::int64_t> num_complete_{0};
};

std::shared_ptr<BlockStore> open_store(const std::string& fingerprint, std::int64_t num_blocks,
                                       std::int64_t block_bytes, std::int64_t patience_ms) {
  if (num_blocks > (std::int64_t{1} << 62) / block_bytes) return nullptr;
  const Layout layout(num_blocks, block_bytes);
  const std::string name = "torch_dts-" + std::to_string(user_id()) + "-" + fingerprint;
  const auto region =
      open_shared_region(name, layout.bytes, [&](ByteSpan memory) { prepare(memory, layout); });
  if (!region) return nullptr;
  Head found;
  std::memcpy(&found, region->memory().data(), sizeof found);
  if (found != layout.head) return nullptr;
  return std::make_shared<SharedStore>(region, layout, patience_ms);
}

#else

std::shared_ptr<BlockStore> open_store(const std::string&, std::int64_t, std::int64_t,
                                       std::int64_t) {
  return nullptr;
}

#endif  // __linux__

// The stores this process has, so that it has each once. Never destroyed; a forked child
// gets it unlocked.
class OpenStores {
 public:
  static OpenStores& all() {
    static auto* const stores = new OpenStores;
    static const int registered =
        pthread_atfork([] { stores->mutex_.lock(); }, [] { stores->mutex_.unlock(); },
                       [] { stores->mutex_.unlock(); });
    static_cast<void>(registered);
    return *stores;
  }

  std::shared_ptr<BlockStore> open(const std::string& fingerprint, std::int64_t num_blocks,
                                   std::int64_t block_bytes, std::int64_t patience_ms) {
    const std::lock_guard lock(mutex_);
    std::erase_if(stores_, [](const auto& entry) { return entry.second.expired(); });
    auto& entry = stores_[{fingerprint, num_blocks, block_bytes}];
    std::shared_ptr<BlockStore> store = entry.lock();
    if (store) return store;
    store = open_store(fingerprint, num_blocks, block_bytes, patience_ms);
    if (!store) return nullptr;
    entry = store;
    return store;
  }

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, std::weak_ptr<BlockStore>> stores_;
};

}  // namespace

std::shared_ptr<BlockStore> open_shared_store(const std::string& fingerprint,
                                              std::int64_t num_blocks, std::int64_t block_bytes,
                                              std::int64_t patience_ms) {
  if (fingerprint.empty() || fingerprint.size() > 64) {
    throw InvalidArgument("the fingerprint has " + std::to_string(fingerprint.size()) +
                          " characters, expected 1 to 64");
  }
  if (num_blocks > 0 && block_bytes > 0) {
    auto store = OpenStores::all().open(fingerprint, num_blocks, block_bytes, patience_ms);
    if (store) return store;
  }
  return make_private_store(num_blocks, block_bytes);
}

}  // namespace dts
