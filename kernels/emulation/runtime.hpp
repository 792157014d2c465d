// What rungs call of the CUDA runtime, on an emulated device.
#pragma once

#include <cuda_runtime.h>

#include "kernels/emulation/launch.hpp"

namespace gemm::emulation {

cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaGetLastError();
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result);
cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value);
Configuration configuration_of(const cudaLaunchConfig_t& config);

template <class... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return set_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  launch("cudaLaunchKernelEx", configuration_of(*config),
         kernel)(std::forward<Arguments>(arguments)...);
  return cudaGetLastError();
}

}  // namespace gemm::emulation
