// SPDX-License-Identifier: Apache-2.0
// Ops in other threads while the interpreter ends (torch_dts/_exit.py). Python takes the GIL
// away from daemon threads then: one that comes back from an op to ask for it is ended below
// C++ frames that can't be left so, and the process aborts. So ops give up between two images
// or blocks, and a thread that is too late for the end never comes back.
#pragma once

#include <torch/csrc/stable/library.h>

#include <atomic>
#include <cstdint>

namespace dts::ops {

// Around each op. Thread-safe.
class OpScope {
 public:
  OpScope();
  // Does not return in a thread that `keep_threads` named: it sleeps to the end of the process,
  // with nothing of the op but its arguments left.
  ~OpScope();
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;
};

// Whether what this thread does is for the thread that ends the interpreter, whose ops go on.
bool acts_for_ender();

// While it lives, this thread does a part of an op of another one.
class ActFor {
 public:
  explicit ActFor(bool ender);
  ~ActFor();
  ActFor(const ActFor&) = delete;
  ActFor& operator=(const ActFor&) = delete;

 private:
  const bool before_;
};

// Becomes true when this thread's op is to give up; nullptr: never.
const std::atomic<bool>* maybe_give_up();

// std::runtime_error: the interpreter ends without this thread. Costs one load.
void check_not_ending();

template <auto Boxed>
void scoped_op(StableIValue* stack, std::uint64_t num_args, std::uint64_t num_outputs) {
  const OpScope scope;
  Boxed(stack, num_args, num_outputs);
}

}  // namespace dts::ops

// In the place of TORCH_BOX.
#define DTS_BOX(function) (&dts::ops::scoped_op<TORCH_BOX(function)>)
