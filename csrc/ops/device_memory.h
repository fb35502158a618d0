// SPDX-License-Identifier: Apache-2.0
// Page-locked memory near a GPU, one source of it for each device and process. CUDA itself is
// asked through ops that the CUDA module implements: this module can't be linked with it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/pinned_memory.h"

namespace dts::ops {

// The NUMA node of a device by its PCI bus id. Absent: any is as good.
std::optional<int> node_of_device(const std::string& pci_bus_id);

// The source for the CUDA device of this number, which lives as long as somebody has it.
// Thread-safe.
std::shared_ptr<BatchMemory> device_memory(std::int64_t device, const std::string& pci_bus_id);

}  // namespace dts::ops
