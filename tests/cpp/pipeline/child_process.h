// SPDX-License-Identifier: Apache-2.0
// A forked child that takes turns with the test: each can say that it got so far, and wait
// for the other to say so.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <functional>
#include <iostream>

#include "support.h"

namespace dts::testing {

class Child {
 public:
  // `action` runs in the child with this object; its result is the exit status (0: well). To
  // be made while the test has no threads that the child would miss.
  explicit Child(const std::function<bool(Child&)>& action) {
    REQUIRE(::pipe2(to_child_, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(to_parent_, O_CLOEXEC) == 0);
    std::cout.flush();  // or the child writes it a second time
    std::fflush(nullptr);
    id_ = ::fork();
    REQUIRE(id_ >= 0);
    if (id_ != 0) {
      ::close(to_child_[0]);
      ::close(to_parent_[1]);
      return;
    }
    ::close(to_child_[1]);
    ::close(to_parent_[0]);
    bool is_well = false;
    try {
      is_well = action(*this);
    } catch (...) {
    }
    ::_exit(is_well ? 0 : 1);
  }
  ~Child() {
    if (id_ > 0) kill();
    ::close(to_child_[1]);
    ::close(to_parent_[0]);
  }
  Child(const Child&) = delete;

  void say() const { REQUIRE(::write(id_ == 0 ? to_parent_[1] : to_child_[1], "x", 1) == 1); }
  // false: the other process is gone.
  bool hear() const {
    char said = 0;
    return ::read(id_ == 0 ? to_child_[0] : to_parent_[0], &said, 1) == 1;
  }
  // Whether it ended well.
  bool join() {
    int status = -1;
    REQUIRE(::waitpid(id_, &status, 0) == id_);
    id_ = -1;
    return status == 0;
  }
  void kill() {
    ::kill(id_, SIGKILL);
    join();
  }
  pid_t id() const { return id_; }

 private:
  int to_child_[2] = {-1, -1};
  int to_parent_[2] = {-1, -1};
  pid_t id_ = -1;
};

// A name no other test process has.
inline std::string own_name(const std::string& name) {
  return name + "-" + std::to_string(::getpid());
}

}  // namespace dts::testing
