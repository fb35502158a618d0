// SPDX-License-Identifier: Apache-2.0
// Which CPUs this process may run on, how they and PCI devices lie in the machine, and binding
// a thread and its memory to a part of it. topology_posix.cpp holds the calls of the platform.
// All functions are thread-safe and keep nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dts {

// The CPUs this process may run on (its main thread's mask), rising, never empty. Where
// the platform can't say: 0 to the number of CPUs.
std::vector<int> allowed_cpus();

// From now on this thread runs on this CPU alone. False where the platform, or its limits
// on us, don't let it; nothing has changed then.
bool bind_this_thread(int cpu);

// As above, on any of these. An empty list: false.
bool bind_this_thread(const std::vector<int>& cpus);

// Memory that this thread touches first comes from this NUMA node from now on, as long as there is
// some. False where the platform, or its limits on us, don't let it.
bool prefer_memory_of_node(int node);

// What tools show for this thread; cut to 15 characters. Does nothing where there are none.
void name_this_thread(const std::string& name);

// "0-3,8" -> 0 1 2 3 8, the kernel's way to write a set of CPUs or nodes. Absent: the text
// is no such list.
std::optional<std::vector<int>> parse_cpu_list(std::string_view text);

// `allowed` in the order in which a growing number of threads should take them: the NUMA
// nodes in turn, in each node first one CPU of every core, then their hyperthreads.
// What can't be read under `sysfs_root` counts as one node, or as a core of its own.
std::vector<int> spread_cpus(const std::vector<int>& allowed,
                             const std::string& sysfs_root = "/sys");

// The NUMA node of a PCI device ("0000:3b:00.0", in either case). Absent: the machine has one
// node, or does not say.
std::optional<int> numa_node_of_pci(std::string_view bus_id,
                                    const std::string& sysfs_root = "/sys");

// Those of `allowed` that belong to the node, in their order.
std::vector<int> cpus_of_node(const std::vector<int>& allowed, int node,
                              const std::string& sysfs_root = "/sys");

}  // namespace dts
