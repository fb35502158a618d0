// SPDX-License-Identifier: Apache-2.0
#include "base/topology.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support.h"

using dts::testing::bytes_of;
using dts::testing::patch;
using dts::testing::TempDir;

namespace {

using Cpus = std::vector<int>;

// A tree as the kernel shows it: the CPUs of each node, and those of each core.
class FakeSysfs {
 public:
  FakeSysfs(const std::string& online, const std::map<int, std::string>& nodes,
            const std::map<int, std::string>& siblings) {
    for (const auto& [node, cpus] : nodes) {
      write("devices/system/node/node" + std::to_string(node), "cpulist", cpus);
    }
    write("devices/system/node", "online", online);
    for (const auto& [cpu, cpus] : siblings) {
      write("devices/system/cpu/cpu" + std::to_string(cpu) + "/topology", "thread_siblings_list",
            cpus);
    }
  }
  const std::string& root() const { return folder_.path(); }
  // A PCI device and what the kernel says of its node.
  void add_device(const std::string& bus_id, const std::string& node) {
    write("bus/pci/devices/" + bus_id, "numa_node", node);
  }

 private:
  void write(const std::string& folder, const std::string& name, const std::string& text) {
    std::filesystem::create_directories(folder_ / folder);
    patch(folder_ / (folder + "/" + name), 0, bytes_of(text + "\n"));
  }
  TempDir folder_;
};

}  // namespace

TEST_CASE("lists of CPUs are read as the kernel writes them") {
  CHECK(dts::parse_cpu_list("0-3,8\n") == Cpus{0, 1, 2, 3, 8});
  CHECK(dts::parse_cpu_list("5") == Cpus{5});
  CHECK(dts::parse_cpu_list("7-7,2-3") == Cpus{7, 2, 3});
  CHECK(dts::parse_cpu_list("") == Cpus{});
  CHECK(dts::parse_cpu_list("\n") == Cpus{});
  for (const char* const text : {"a", "1-", "-1", "3-1", "1,,2", "1 2", "1-2-3", "0x3", "1:2",
                                 "99999999999", "0-65536", ",1"}) {
    CAPTURE(text);
    CHECK_FALSE(dts::parse_cpu_list(text).has_value());
  }
}

TEST_CASE("threads go to the nodes in turn, to whole cores before hyperthreads") {
  const FakeSysfs two_nodes("0-1", {{0, "0-1,4-5"}, {1, "2-3,6-7"}},
                            {{0, "0,4"},
                             {1, "1,5"},
                             {2, "2,6"},
                             {3, "3,7"},
                             {4, "0,4"},
                             {5, "1,5"},
                             {6, "2,6"},
                             {7, "3,7"}});
  CHECK(dts::spread_cpus({0, 1, 2, 3, 4, 5, 6, 7}, two_nodes.root()) ==
        Cpus{0, 2, 1, 3, 4, 6, 5, 7});
  // Only what the process may use; the nodes need not have equally many.
  CHECK(dts::spread_cpus({1, 2, 3, 6, 7}, two_nodes.root()) == Cpus{1, 2, 3, 6, 7});
  CHECK(dts::spread_cpus({5}, two_nodes.root()) == Cpus{5});
}

TEST_CASE("nodes without CPUs and numbers with gaps") {
  const FakeSysfs odd("0,2", {{0, ""}, {2, "10-11"}}, {{10, "10-11"}, {11, "10-11"}});
  CHECK(dts::spread_cpus({3, 10, 11}, odd.root()) == Cpus{3, 10, 11});
  CHECK(dts::spread_cpus({11, 10}, odd.root()) == Cpus{10, 11});
}

TEST_CASE("what can't be read counts as one node of single cores") {
  const TempDir empty;
  CHECK(dts::spread_cpus({4, 2, 9}, empty.path()) == Cpus{2, 4, 9});
  const FakeSysfs damaged("0-x", {{0, "1"}}, {{2, "two"}});
  CHECK(dts::spread_cpus({1, 2}, damaged.root()) == Cpus{1, 2});
  CHECK(dts::spread_cpus({}, empty.path()).empty());
}

TEST_CASE("a PCI device has a node where there are several and the kernel knows it") {
  FakeSysfs two_nodes("0-1", {{0, "0-1"}, {1, "2-3"}}, {});
  two_nodes.add_device("0000:3b:00.0", "1");
  two_nodes.add_device("0000:af:00.0", "-1");
  two_nodes.add_device("0000:c1:00.0", "no number");
  CHECK(dts::numa_node_of_pci("0000:3b:00.0", two_nodes.root()) == 1);
  CHECK(dts::numa_node_of_pci("0000:3B:00.0", two_nodes.root()) == 1);
  CHECK_FALSE(dts::numa_node_of_pci("0000:AF:00.0", two_nodes.root()));
  CHECK_FALSE(dts::numa_node_of_pci("0000:c1:00.0", two_nodes.root()));
  CHECK_FALSE(dts::numa_node_of_pci("0000:00:1f.0", two_nodes.root()));
  CHECK_FALSE(dts::numa_node_of_pci("../devices/0000:3b:00.0", two_nodes.root()));
  FakeSysfs one_node("0", {{0, "0-3"}}, {});
  one_node.add_device("0000:3b:00.0", "0");
  CHECK_FALSE(dts::numa_node_of_pci("0000:3b:00.0", one_node.root()));
  CHECK_FALSE(dts::numa_node_of_pci("0000:3b:00.0", "/nowhere"));
}

TEST_CASE("of a node's CPUs those are ours that we may use") {
  const FakeSysfs tree("0-1", {{0, "0-1,4-5"}, {1, "2-3,6-7"}}, {});
  CHECK(dts::cpus_of_node({1, 2, 5, 6}, 1, tree.root()) == Cpus{2, 6});
  CHECK(dts::cpus_of_node({6, 2}, 1, tree.root()) == Cpus{6, 2});
  CHECK(dts::cpus_of_node({0, 1}, 1, tree.root()).empty());
  CHECK(dts::cpus_of_node({0, 1}, 7, tree.root()).empty());
  CHECK(dts::cpus_of_node({0, 1}, -1, tree.root()).empty());
}
