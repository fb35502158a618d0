// SPDX-License-Identifier: Apache-2.0
#include "pipeline/shared_store_region.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "child_process.h"
#include "pipeline/shared_store_handover.h"

namespace dts {
namespace {

using testing::Child;
using testing::own_name;

constexpr std::size_t kBytes = 3 << 20;

void prepare_nothing(ByteSpan) {}

void write_text(ByteSpan memory, const std::string& text) {
  std::copy_n(reinterpret_cast<const std::byte*>(text.data()), text.size(), memory.begin());
}

std::string text_at(ByteSpan memory, std::size_t size) {
  return testing::text_of(memory.first(size));
}

TEST_CASE("region: zeros, prepared before anybody else sees it, then shared") {
  const std::string name = own_name("dts-region");
  Child child([&](Child& self) {
    self.hear();
    const auto region = open_shared_region(name, kBytes, [](ByteSpan) { throw 1; });
    if (!region || text_at(region->memory(), 8) != "prepared") return false;
    write_text(region->memory().subspan(kBytes - 5), "child");
    self.say();
    self.hear();
    return text_at(region->memory().subspan(100), 6) == "parent";
  });
  const auto region = open_shared_region(name, kBytes, [](ByteSpan memory) {
    CHECK(std::all_of(memory.begin(), memory.end(), [](std::byte b) { return b == std::byte{}; }));
    write_text(memory, "prepared");
  });
  REQUIRE(region != nullptr);
  CHECK(region->memory().size() == kBytes);
  CHECK(region->provide(0, kBytes));
  child.say();
  CHECK(child.hear());
  CHECK(text_at(region->memory().subspan(kBytes - 5), 5) == "child");
  write_text(region->memory().subspan(100), "parent");
  child.say();
  CHECK(child.join());
}

TEST_CASE("region: when its maker is gone, who has it keeps it and newcomers make another") {
  const std::string name = own_name("dts-maker");
  Child maker([&](Child& self) {
    const auto region = open_shared_region(name, kBytes, prepare_nothing);
    write_text(region->memory(), "first");
    self.say();
    self.hear();
    return true;
  });
  REQUIRE(maker.hear());
  const auto region = open_shared_region(name, kBytes, prepare_nothing);
  REQUIRE(region != nullptr);
  maker.kill();
  CHECK(text_at(region->memory(), 5) == "first");
  const auto another =
      open_shared_region(name, kBytes, [](ByteSpan memory) { write_text(memory, "other"); });
  REQUIRE(another != nullptr);
  CHECK(text_at(another->memory(), 5) == "other");
  CHECK(text_at(region->memory(), 5) == "first");
}

TEST_CASE("region: its size can't be changed by anybody") {
  const std::string name = own_name("dts-sealed");
  const auto region = open_shared_region(name, kBytes, prepare_nothing);
  REQUIRE(region != nullptr);
  Descriptor received;
  REQUIRE(ask_for_descriptor(name, received) == Handover::kReceived);
  CHECK(::ftruncate(*received, 0) == -1);
  CHECK(::ftruncate(*received, 2 * kBytes) == -1);
}

TEST_CASE("region: what has the name but is not such memory is refused") {
  const std::string name = own_name("dts-impostor");
  const auto refuses = [&](int descriptor) {
    bool is_taken = false;
    const auto server = HandoverServer::start(name, descriptor, is_taken);
    REQUIRE(server != nullptr);
    return open_shared_region(name, kBytes, prepare_nothing) == nullptr;
  };
  // A file, memory that is not sealed, sealed memory of another size.
  const testing::TempDir dir;
  testing::patch(dir / "file", 0, testing::Bytes(kBytes));
  const Descriptor file(::open((dir / "file").c_str(), O_RDWR | O_CLOEXEC));
  CHECK(refuses(*file));
  const Descriptor memory(static_cast<int>(::syscall(SYS_memfd_create, "test", 3)));
  REQUIRE(::ftruncate(*memory, kBytes) == 0);
  CHECK(refuses(*memory));
  REQUIRE(::fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
  CHECK(refuses(*memory));
  REQUIRE(::fcntl(*memory, F_ADD_SEALS, F_SEAL_GROW) == 0);
  CHECK_FALSE(refuses(*memory));
  const auto region = open_shared_region(name, kBytes, prepare_nothing);
  CHECK(region != nullptr);
  CHECK(open_shared_region(name, kBytes + 1, prepare_nothing) == nullptr);
}

TEST_CASE("region: none where the limits of the process don't allow it") {
  const std::string name = own_name("dts-limits");
  for (const int limit : {RLIMIT_FSIZE, RLIMIT_AS, RLIMIT_NOFILE}) {
    Child child([&](Child&) {
      // Enough for this test, not for the region.
      rlimit value{1 << 20, 1 << 20};
      if (limit == RLIMIT_NOFILE) value = {3, 3};
      if (::setrlimit(static_cast<__rlimit_resource_t>(limit), &value) != 0) return false;
      return open_shared_region(name, kBytes, prepare_nothing) == nullptr;
    });
    CHECK(child.join());
  }
  CHECK(open_shared_region(name, 0, prepare_nothing) == nullptr);
  CHECK(open_shared_region(std::string(120, 'a'), kBytes, prepare_nothing) == nullptr);
}

TEST_CASE("region: the user is the system's") { CHECK(user_id() == ::geteuid()); }

}  // namespace
}  // namespace dts
