// SPDX-License-Identifier: Apache-2.0
// shared_store_handover.h for Linux; other systems have no abstract sockets.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE  // accept4, struct ucred
#endif
#include <unistd.h>

#include "pipeline/shared_store_handover.h"

#ifdef __linux__
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/process.h"
#endif  // __linux__

namespace dts {

void Descriptor::close_descriptor(int number) { ::close(number); }

#ifdef __linux__
namespace {

constexpr int kBacklog = 64;
constexpr char kGreeting = 'D';

// Sockets that are listened on. A forked child has them too, and would keep the name taken
// when the process that answers is gone: it closes them at once. No lock, since the child
// might find it taken by a thread it lacks.
class Listeners {
 public:
  static Listeners& all() {
    static auto* const listeners = new Listeners;
    static const int registered =
        pthread_atfork(nullptr, nullptr, [] { listeners->close_in_child(); });
    static_cast<void>(registered);
    return *listeners;
  }
  // false: there are too many.
  bool add(int number) {
    for (std::atomic<int>& slot : slots_) {
      int free = kFree;
      if (slot.compare_exchange_strong(free, number)) return true;
    }
    return false;
  }
  void remove(int number) {
    ::shutdown(number, SHUT_RDWR);  // also for a child that is forked just now
    for (std::atomic<int>& slot : slots_) {
      int expected = number;
      if (slot.compare_exchange_strong(expected, kFree)) break;
    }
  }

 private:
  static constexpr int kFree = -1;
  Listeners() {
    for (std::atomic<int>& slot : slots_) slot = kFree;
  }
  void close_in_child() {
    for (std::atomic<int>& slot : slots_) {
      const int number = slot.exchange(kFree);
      if (number != kFree) ::close(number);
    }
  }
  std::array<std::atomic<int>, 64> slots_;
};

struct Address {
  sockaddr_un place{};
  socklen_t size = 0;
};

// false: the name is too long.
bool address_of(const std::string& name, Address& address) {
  if (name.size() + 1 > sizeof address.place.sun_path) return false;
  address.place.sun_family = AF_UNIX;
  std::memcpy(address.place.sun_path + 1, name.data(), name.size());  // behind a NUL: abstract
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return true;
}

bool is_peer_the_same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && size == sizeof peer &&
         peer.uid == ::geteuid();
}

Descriptor make_socket(int flags) {
  return Descriptor(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
}

// A message of one byte with one descriptor.
struct Message {
  char greeting = kGreeting;
  iovec piece{&greeting, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr head{};
  Message() {
    head.msg_iov = &piece;
    head.msg_iovlen = 1;
    head.msg_control = control;
    head.msg_controllen = sizeof control;
  }
  Message(const Message&) = delete;
};

void send_descriptor(int socket, int descriptor) {
  Message message;
  cmsghdr* const part = CMSG_FIRSTHDR(&message.head);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
  // A newcomer that is gone meanwhile is no error here.
  static_cast<void>(::sendmsg(socket, &message.head, MSG_NOSIGNAL | MSG_DONTWAIT));
}

// `is_late`: no answer came in time.
Descriptor receive_descriptor(int socket, bool& is_late) {
  Message message;
  message.greeting = 0;
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message.head, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  is_late = got < 0 && errno == EAGAIN;
  const cmsghdr* const part = got > 0 ? CMSG_FIRSTHDR(&message.head) : nullptr;
  if (part == nullptr || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
    return Descriptor();
  }
  // All that came are ours to close.
  std::vector<Descriptor> received;
  for (std::size_t end = CMSG_LEN(sizeof(int)); end <= part->cmsg_len; end += sizeof(int)) {
    int number = -1;
    std::memcpy(&number, reinterpret_cast<const char*>(part) + end - sizeof(int), sizeof number);
    received.emplace_back(number);
  }
  const bool is_ours = got == 1 && (message.head.msg_flags & MSG_TRUNC) == 0 &&
                       message.greeting == kGreeting && received.size() == 1;
  return is_ours ? std::move(received.front()) : Descriptor();
}

class Server : public HandoverServer {
 public:
  Server(Descriptor listener, Descriptor wake, int descriptor)
      : descriptor_(descriptor), listener_(std::move(listener)), wake_(std::move(wake)) {
    thread_ = std::make_unique<std::thread>([this] { answer_newcomers(); });
  }

  ~Server() override {
    if (!home_.is_here()) {
      // The thread is the parent's, and the socket is closed here already.
      static_cast<void>(thread_.release());
      static_cast<void>(listener_.take());
      return;
    }
    const std::uint64_t one = 1;
    static_cast<void>(!::write(*wake_, &one, sizeof one));
    thread_->join();
    Listeners::all().remove(*listener_);
  }

 private:
  void answer_newcomers() const {
    pollfd watched[2] = {{*listener_, POLLIN, 0}, {*wake_, POLLIN, 0}};
    bool is_full = false;  // no descriptor is left: try again a little later
    for (;;) {
      const int ready =
          ::poll(is_full ? watched + 1 : watched, is_full ? 1 : 2, is_full ? 100 : -1);
      if (ready < 0 && errno != EINTR) return;
      if (ready > 0 && watched[1].revents != 0) return;
      const Descriptor newcomer(
          ::accept4(*listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
      is_full = false;
      if (!newcomer.is_open()) {
        is_full = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        if (!is_full && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) return;
      } else if (is_peer_the_same_user(*newcomer)) {
        send_descriptor(*newcomer, descriptor_);
      }
    }
  }

  const int descriptor_;
  Descriptor listener_;
  const Descriptor wake_;
  const ProcessMark home_;
  std::unique_ptr<std::thread> thread_;
};

}  // namespace

Handover ask_for_descriptor(const std::string& name, Descriptor& received, int patience_ms) {
  Address address;
  const Descriptor socket = make_socket(0);
  if (!socket.is_open() || !address_of(name, address)) return Handover::kUnusable;
  const timeval patience{patience_ms / 1000, patience_ms % 1000 * 1000};
  ::setsockopt(*socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(*socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);  // connect's
  int connected;
  do {
    connected = ::connect(*socket, reinterpret_cast<const sockaddr*>(&address.place), address.size);
  } while (connected != 0 && errno == EINTR);
  if (connected != 0) return errno == ECONNREFUSED ? Handover::kNobody : Handover::kUnusable;
  if (!is_peer_the_same_user(*socket)) return Handover::kUnusable;
  bool is_late = false;
  received = receive_descriptor(*socket, is_late);
  if (received.is_open()) return Handover::kReceived;
  return is_late ? Handover::kUnusable : Handover::kNobody;
}

std::unique_ptr<HandoverServer> HandoverServer::start(const std::string& name, int descriptor,
                                                      bool& is_taken) {
  is_taken = false;
  Address address;
  Descriptor listener = make_socket(SOCK_NONBLOCK);
  Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!listener.is_open() || !wake.is_open() || !address_of(name, address)) return nullptr;
  if (::bind(*listener, reinterpret_cast<const sockaddr*>(&address.place), address.size) != 0) {
    is_taken = errno == EADDRINUSE;
    return nullptr;
  }
  const int number = *listener;
  if (::listen(number, kBacklog) != 0 || !Listeners::all().add(number)) return nullptr;
  try {
    return std::make_unique<Server>(std::move(listener), std::move(wake), descriptor);
  } catch (const std::exception&) {  // no more threads or memory
    Listeners::all().remove(number);
    return nullptr;
  }
}

#else

Handover ask_for_descriptor(const std::string&, Descriptor&, int) { return Handover::kUnusable; }

std::unique_ptr<HandoverServer> HandoverServer::start(const std::string&, int, bool& is_taken) {
  is_taken = false;
  return nullptr;
}

#endif  // __linux__

}  // namespace dts
