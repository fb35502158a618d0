// SPDX-License-Identifier: Apache-2.0
// Page-locking memory of the loader, and where a device is. The locking ops belong on a thread
// of their own: it keeps `device` as its current device, so that no context is made on another.
#include <cuda_runtime_api.h>
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/macros.h>

#include <cstdint>
#include <string>

namespace dts::cuda {
namespace {

std::string cuda_pci_bus_id(std::int64_t device) {
  char text[32] = {};
  STD_CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof(text), static_cast<int>(device)));
  return text;
}

std::int64_t cuda_lock_memory(std::int64_t address, std::int64_t num_bytes, std::int64_t device) {
  const cudaError_t chosen = cudaSetDevice(static_cast<int>(device));
  if (chosen != cudaSuccess) return chosen;
  // Portable: locked for all contexts, as one process may feed several devices.
  return cudaHostRegister(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)),
                          static_cast<std::size_t>(num_bytes), cudaHostRegisterPortable);
}

std::int64_t cuda_unlock_memory(std::int64_t address) {
  return cudaHostUnregister(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(torch_dts, CompositeExplicitAutograd, m) {
  m.impl("cuda_pci_bus_id", TORCH_BOX(&cuda_pci_bus_id));
  m.impl("cuda_lock_memory", TORCH_BOX(&cuda_lock_memory));
  m.impl("cuda_unlock_memory", TORCH_BOX(&cuda_unlock_memory));
}

}  // namespace dts::cuda
