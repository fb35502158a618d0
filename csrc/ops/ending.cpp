// SPDX-License-Identifier: Apache-2.0
#include "ops/ending.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/tensors.h"

namespace dts::ops {
namespace {

// As Python's threading.get_ident().
std::int64_t this_thread() { return static_cast<std::int64_t>((std::uintptr_t)pthread_self()); }

// Threads inside of ops. Never destroyed: they may be there to the end of the process. A forked
// child has none of them.
class Inside {
 public:
  static Inside& all() {
    static auto* const inside = new Inside;
    static const int registered =
        pthread_atfork([] { inside->mutex_.lock(); }, [] { inside->mutex_.unlock(); },
                       [] {
                         inside->depths_.clear();
                         inside->kept_.clear();
                         inside->mutex_.unlock();
                       });
    static_cast<void>(registered);
    return *inside;
  }

  void enter() {
    const std::lock_guard lock(mutex_);
    ++depths_[this_thread()];
  }

  // false: the thread must stay. It then counts as inside for ever.
  bool leave() {
    const std::lock_guard lock(mutex_);
    const auto found = depths_.find(this_thread());
    if (found == depths_.end()) return true;  // forked from within
    if (--found->second > 0) return true;
    if (kept_.contains(found->first)) {
      ++found->second;
      return false;
    }
    depths_.erase(found);
    return true;
  }

  // Of `threads`, those that are inside: none of them will come back.
  std::vector<std::int64_t> keep(std::span<const std::int64_t> threads) {
    const std::lock_guard lock(mutex_);
    std::vector<std::int64_t> kept;
    for (const std::int64_t thread : threads) {
      if (!depths_.contains(thread)) continue;
      kept_.insert(thread);
      kept.push_back(thread);
    }
    return kept;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::int64_t, int> depths_;
  std::unordered_set<std::int64_t> kept_;
};

std::atomic<bool> is_ending{false};
thread_local bool is_for_ender = false;

void end_ops() {
  is_for_ender = true;
  is_ending.store(true);
}

Tensor keep_threads(Tensor threads) {
  return int64_tensor(Inside::all().keep(int64_view(threads, "threads")));
}

}  // namespace

OpScope::OpScope() { Inside::all().enter(); }

OpScope::~OpScope() {
  if (Inside::all().leave()) return;
  for (;;) ::pause();
}

bool acts_for_ender() { return is_for_ender; }

ActFor::ActFor(bool ender) : before_(is_for_ender) { is_for_ender = ender; }

ActFor::~ActFor() { is_for_ender = before_; }

const std::atomic<bool>* maybe_give_up() { return is_for_ender ? nullptr : &is_ending; }

void check_not_ending() {
  if (is_ending.load(std::memory_order_relaxed) && !is_for_ender) {
    throw std::runtime_error("the interpreter ends: this thread's work is given up");
  }
}

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  m.def("end_ops() -> ()");
  m.def("keep_threads(Tensor threads) -> Tensor");
}

// Without a scope: they are the end's own.
STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("end_ops", TORCH_BOX(&end_ops));
  m.impl("keep_threads", TORCH_BOX(&keep_threads));
}

}  // namespace dts::ops
