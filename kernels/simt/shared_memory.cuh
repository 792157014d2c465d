// Shared memory beyond the 48 KiB that a kernel may declare: it is asked for at the launch.
#pragma once

#include <stdexcept>
#include <string>

namespace gemm::simt {

/// Lets `kernel` be launched with `bytes` of dynamic shared memory. Throws std::runtime_error if
/// the device has less.
template <class Kernel>
void want_shared_memory(Kernel* kernel, int bytes) {
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
      cudaSuccess)
    throw std::runtime_error("a block cannot have " + std::to_string(bytes) +
                             " bytes of shared memory");
}

}  // namespace gemm::simt
