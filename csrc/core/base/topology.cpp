// SPDX-License-Identifier: Apache-2.0
#include "base/topology.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <utility>

namespace dts {
namespace {

// No machine has more; keeps a damaged list from filling the memory.
constexpr int kMaxCpus = 1 << 16;

std::optional<int> parse_number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  if (number < 0 || number >= kMaxCpus) return {};
  return number;
}

// The list in the first line of a file; empty where there is none.
std::vector<int> read_cpu_list(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return {};
  return parse_cpu_list(line).value_or(std::vector<int>());
}

// How many CPUs of the same core come before this one.
int sibling_rank(const std::string& sysfs_root, int cpu) {
  const auto siblings = read_cpu_list(sysfs_root + "/devices/system/cpu/cpu" + std::to_string(cpu) +
                                      "/topology/thread_siblings_list");
  const auto found = std::find(siblings.begin(), siblings.end(), cpu);
  return found == siblings.end() ? 0 : static_cast<int>(found - siblings.begin());
}

}  // namespace

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::vector<int> cpus;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const std::size_t dash = part.find('-');
    const auto first = parse_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1));
    if (!first || !last || *first > *last) return {};
    for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > kMaxCpus) return {};
  }
  return cpus;
}

std::vector<int> spread_cpus(const std::vector<int>& allowed, const std::string& sysfs_root) {
  const std::string nodes = sysfs_root + "/devices/system/node/";
  std::map<int, int> node_of;
  for (const int node : read_cpu_list(nodes + "online")) {
    for (const int cpu : read_cpu_list(nodes + "node" + std::to_string(node) + "/cpulist")) {
      node_of[cpu] = node;
    }
  }
  // By node: (rank among the core's CPUs, CPU), rising.
  std::map<int, std::vector<std::pair<int, int>>> by_node;
  for (const int cpu : allowed) {
    const auto found = node_of.find(cpu);
    by_node[found == node_of.end() ? 0 : found->second].emplace_back(sibling_rank(sysfs_root, cpu),
                                                                     cpu);
  }
  for (auto& [node, cpus] : by_node) std::sort(cpus.begin(), cpus.end());
  std::vector<int> order;
  for (std::size_t turn = 0; order.size() < allowed.size(); ++turn) {
    for (const auto& [node, cpus] : by_node) {
      if (turn < cpus.size()) order.push_back(cpus[turn].second);
    }
  }
  return order;
}

std::optional<int> numa_node_of_pci(std::string_view bus_id, const std::string& sysfs_root) {
  std::string name;
  for (const char c : bus_id) {
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_digit = (lower >= '0' && lower <= '9') || (lower >= 'a' && lower <= 'f');
    if (!is_digit && lower != ':' && lower != '.') return {};
    name += lower;
  }
  if (read_cpu_list(sysfs_root + "/devices/system/node/online").size() < 2) return {};
  std::ifstream file(sysfs_root + "/bus/pci/devices/" + name + "/numa_node");
  std::string line;
  if (!std::getline(file, line)) return {};
  return parse_number(line);  // -1: not known
}

std::vector<int> cpus_of_node(const std::vector<int>& allowed, int node,
                              const std::string& sysfs_root) {
  const auto own =
      read_cpu_list(sysfs_root + "/devices/system/node/node" + std::to_string(node) + "/cpulist");
  std::vector<int> cpus;
  for (const int cpu : allowed) {
    if (std::find(own.begin(), own.end(), cpu) != own.end()) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace dts
