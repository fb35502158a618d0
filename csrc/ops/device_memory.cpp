// SPDX-License-Identifier: Apache-2.0
#include "ops/device_memory.h"

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/stableivalue_conversions.h>

#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "base/process.h"
#include "base/topology.h"

namespace dts::ops {
namespace {

std::int64_t address_of(const std::byte* data) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data));
}

// An op of ints that returns an int.
template <class... Ints>
std::int64_t call_op(const char* name, Ints... arguments) {
  std::array<StableIValue, sizeof...(arguments)> stack{torch::stable::detail::from(arguments)...};
  STABLE_TORCH_ERROR_CODE_CHECK(torch_call_dispatcher(name, "", stack.data(), TORCH_ABI_VERSION));
  return torch::stable::detail::to<std::int64_t>(stack[0]);
}

PinnedCalls calls_of(std::int64_t device) {
  PinnedCalls calls = system_calls();
  calls.lock = [device](std::byte* data, std::size_t bytes) {
    return static_cast<int>(call_op("torch_dts::cuda_lock_memory", address_of(data),
                                    static_cast<std::int64_t>(bytes), device));
  };
  calls.unlock = [](std::byte* data) {
    call_op("torch_dts::cuda_unlock_memory", address_of(data));
  };
  return calls;
}

struct Sources {
  std::mutex mutex;
  ProcessMark home;
  std::map<std::int64_t, std::weak_ptr<BatchMemory>> by_device;
};

}  // namespace

std::optional<int> node_of_device(const std::string& pci_bus_id) {
  return pci_bus_id.empty() ? std::nullopt : numa_node_of_pci(pci_bus_id);
}

std::shared_ptr<BatchMemory> device_memory(std::int64_t device, const std::string& pci_bus_id) {
  static auto* const sources = new Sources;
  const std::optional<int> node = node_of_device(pci_bus_id);
  std::vector<int> cpus;
  if (node) cpus = cpus_of_node(allowed_cpus(), *node);
  // A forked child may find the lock taken; what it makes is for it alone.
  if (!sources->home.is_here()) {
    return std::make_shared<PinnedMemory>(node, std::move(cpus), calls_of(device));
  }
  const std::lock_guard lock(sources->mutex);
  std::weak_ptr<BatchMemory>& known = sources->by_device[device];
  std::shared_ptr<BatchMemory> memory = known.lock();
  if (!memory) {
    memory = std::make_shared<PinnedMemory>(node, std::move(cpus), calls_of(device));
    known = memory;
  }
  return memory;
}

}  // namespace dts::ops

STABLE_TORCH_LIBRARY_FRAGMENT(torch_dts, m) {
  // Implemented by the CUDA module. The last two are called by device_memory() alone, with
  // memory that it holds, and return CUDA's error.
  m.def("cuda_pci_bus_id(int device) -> str");
  m.def("cuda_lock_memory(int address, int num_bytes, int device) -> int");
  m.def("cuda_unlock_memory(int address) -> int");
}
