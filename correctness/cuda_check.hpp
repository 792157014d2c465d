// The one way in which this folder's CUDA calls are checked.
#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace gemm {

inline void check_cuda(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // reported here, so it must not be reported again by a later, sound call
  throw std::runtime_error(std::string(call) + " failed at " + file + ":" + std::to_string(line) +
                           ": " + cudaGetErrorString(status));
}

}  // namespace gemm

#define GEMM_CUDA(call) ::gemm::check_cuda((call), #call, __FILE__, __LINE__)
