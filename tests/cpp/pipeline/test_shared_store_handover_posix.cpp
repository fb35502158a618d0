// SPDX-License-Identifier: Apache-2.0
#include "pipeline/shared_store_handover.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <thread>

#include "child_process.h"

namespace dts {
namespace {

using testing::Child;
using testing::own_name;

struct SharedFile {
  SharedFile() {
    testing::patch(dir / "file", 0, testing::bytes_of("shared"));
    descriptor = Descriptor(::open((dir / "file").c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(descriptor.is_open());
  }
  testing::TempDir dir;
  Descriptor descriptor;
};

std::string content_of(const Descriptor& descriptor) {
  char text[16] = {};
  const ssize_t got = ::pread(*descriptor, text, sizeof text, 0);
  return {text, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

std::unique_ptr<HandoverServer> started(const std::string& name, const Descriptor& descriptor) {
  bool is_taken = false;
  return HandoverServer::start(name, *descriptor, is_taken);
}

// A socket of the name with somebody else's manners.
Descriptor listener_of(const std::string& name) {
  Descriptor listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un place{};
  place.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), place.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  REQUIRE(::bind(*listener, reinterpret_cast<sockaddr*>(&place), size) == 0);
  REQUIRE(::listen(*listener, 1) == 0);
  return listener;
}

TEST_CASE("handover: a descriptor reaches another process by its name") {
  const SharedFile file;
  const std::string name = own_name("dts-handover");
  Child child([&](Child& self) {
    self.hear();
    for (int i = 0; i < 3; ++i) {
      Descriptor received;
      if (ask_for_descriptor(name, received) != Handover::kReceived) return false;
      if (content_of(received) != "shared") return false;
      if ((::fcntl(*received, F_GETFD) & FD_CLOEXEC) == 0) return false;
    }
    return true;
  });
  const auto server = started(name, file.descriptor);
  REQUIRE(server != nullptr);
  child.say();
  CHECK(child.join());
  Descriptor received;  // and this one too
  CHECK(ask_for_descriptor(name, received) == Handover::kReceived);
  CHECK(content_of(received) == "shared");
}

TEST_CASE("handover: a name is one server's, and free when it goes") {
  const SharedFile file;
  const std::string name = own_name("dts-taken");
  Descriptor received;
  CHECK(ask_for_descriptor(name, received) == Handover::kNobody);
  for (int i = 0; i < 20; ++i) {
    const auto server = started(name, file.descriptor);
    REQUIRE(server != nullptr);
    bool is_taken = false;
    CHECK(HandoverServer::start(name, *file.descriptor, is_taken) == nullptr);
    CHECK(is_taken);
  }
  CHECK(ask_for_descriptor(name, received) == Handover::kNobody);
  CHECK_FALSE(received.is_open());
}

TEST_CASE("handover: nothing is left of a process that was killed") {
  const SharedFile file;
  const std::string name = own_name("dts-killed");
  Child child([&](Child& self) {
    const auto server = started(name, file.descriptor);
    self.say();
    self.hear();
    return server != nullptr;
  });
  REQUIRE(child.hear());
  Descriptor received;
  CHECK(ask_for_descriptor(name, received) == Handover::kReceived);
  child.kill();
  CHECK(ask_for_descriptor(name, received) == Handover::kNobody);
  CHECK(started(name, file.descriptor) != nullptr);
}

TEST_CASE("handover: a forked child has no part in it") {
  const SharedFile file;
  const std::string name = own_name("dts-forked");
  auto server = started(name, file.descriptor);
  Child child([&](Child& self) {
    self.hear();
    server.reset();  // not its own to end
    self.say();
    self.hear();
    return true;
  });
  child.say();
  CHECK(child.hear());
  Descriptor received;
  CHECK(ask_for_descriptor(name, received) == Handover::kReceived);
  server.reset();
  // The child lives, and does not keep the name.
  CHECK(ask_for_descriptor(name, received) == Handover::kNobody);
  CHECK(started(name, file.descriptor) != nullptr);
  child.say();
  CHECK(child.join());
}

TEST_CASE("handover: a process that does not answer is waited for no longer than asked") {
  const std::string name = own_name("dts-silent");
  const Descriptor listener = listener_of(name);
  Descriptor received;
  CHECK(ask_for_descriptor(name, received, 20) == Handover::kUnusable);
  // With two more its queue is full, and connecting has to wait as well.
  CHECK(ask_for_descriptor(name, received, 20) == Handover::kUnusable);
  CHECK(ask_for_descriptor(name, received, 20) == Handover::kUnusable);
  CHECK(ask_for_descriptor(name, received, 20) == Handover::kUnusable);
}

TEST_CASE("handover: other answers than ours give nothing, and no descriptor is lost") {
  const SharedFile file;
  const std::string name = own_name("dts-stranger");
  const Descriptor listener = listener_of(name);
  // Sends `text` with `count` descriptors.
  const auto answer = [&](const std::string& text, std::size_t count) {
    std::thread stranger([&] {
      const Descriptor newcomer(::accept(*listener, nullptr, nullptr));
      iovec piece{const_cast<char*>(text.data()), text.size()};
      alignas(cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = {};
      msghdr head{};
      head.msg_iov = &piece;
      head.msg_iovlen = 1;
      if (count > 0) {
        head.msg_control = control;
        head.msg_controllen = CMSG_SPACE(count * sizeof(int));
        cmsghdr* const part = CMSG_FIRSTHDR(&head);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(count * sizeof(int));
        const int numbers[2] = {*file.descriptor, *file.descriptor};
        std::copy_n(reinterpret_cast<const char*>(numbers), count * sizeof(int),
                    reinterpret_cast<char*>(CMSG_DATA(part)));
      }
      if (!text.empty()) static_cast<void>(::sendmsg(*newcomer, &head, MSG_NOSIGNAL));
    });
    Descriptor received;
    const Handover result = ask_for_descriptor(name, received);
    stranger.join();
    CHECK(received.is_open() == (result == Handover::kReceived));
    return result;
  };
  const auto num_open = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = num_open();
  CHECK(answer("", 0) == Handover::kNobody);
  CHECK(answer("D", 0) == Handover::kNobody);
  CHECK(answer("X", 1) == Handover::kNobody);
  CHECK(answer("DD", 1) == Handover::kNobody);
  CHECK(answer("D", 2) == Handover::kNobody);
  CHECK(answer("D", 1) == Handover::kReceived);
  CHECK(num_open() == before);
}

TEST_CASE("handover: names that are too long, and descriptors that move") {
  const SharedFile file;
  Descriptor received;
  CHECK(ask_for_descriptor(std::string(108, 'a'), received) == Handover::kUnusable);
  bool is_taken = true;
  CHECK(HandoverServer::start(std::string(108, 'a'), *file.descriptor, is_taken) == nullptr);
  CHECK_FALSE(is_taken);
  Descriptor first(::dup(*file.descriptor));
  const int number = *first;
  Descriptor second(std::move(first));
  CHECK(*second == number);
  Descriptor third;
  third = std::move(second);
  CHECK(*third == number);
  third.reset();
  CHECK(::fcntl(number, F_GETFD) == -1);
}

}  // namespace
}  // namespace dts
