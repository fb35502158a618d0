// SPDX-License-Identifier: Apache-2.0
// Hands a file descriptor to other processes of the same user, by a name: the abstract unix
// socket of that name answers whoever connects with the descriptor and nothing else. Both
// sides look at the other's user id. Nothing is left of a name when its process is gone.
#pragma once

#include <memory>
#include <string>
#include <utility>

namespace dts {

// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.take()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    reset();
    number_ = other.take();
    return *this;
  }
  int operator*() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int take() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) close_descriptor(take());
  }

 private:
  static void close_descriptor(int number);
  int number_;
};

enum class Handover { kReceived, kNobody, kUnusable };

// kNobody: no process has the name, or it is just going. kUnusable: another user has it, it
// does not answer in time (it may be suspended), or the system refuses. Blocks until then.
Handover ask_for_descriptor(const std::string& name, Descriptor& received, int patience_ms = 5000);

// Answers for a name until it is destroyed; owns a thread, which waits and costs nothing.
// In a forked child it is not answering and leaves the parent's alone.
class HandoverServer {
 public:
  virtual ~HandoverServer() = default;
  // `descriptor` is borrowed. null: not possible; `is_taken`: since another process has the
  // name.
  static std::unique_ptr<HandoverServer> start(const std::string& name, int descriptor,
                                               bool& is_taken);
};

}  // namespace dts
