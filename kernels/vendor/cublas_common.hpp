// What the vendor rungs share: errors turned into exceptions, and types by their vendor names.
#pragma once

#include <cublas_v2.h>

#include <stdexcept>
#include <string>

#include "kernels/gemm.hpp"

namespace gemm::vendor {

inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + ": " + cublasGetStatusString(status));
}

inline cudaDataType_t storage_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
      return CUDA_R_32F;
    case Precision::fp16:
      return CUDA_R_16F;
    case Precision::bf16:
      return CUDA_R_16BF;
  }
  throw std::logic_error("a precision without a storage type");
}

/// FP32 accumulation everywhere; TF32 only where the problem asks for it.
inline cublasComputeType_t compute_type(Precision precision) {
  return precision == Precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

inline cublasOperation_t operation(bool transposed) {
  return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/// What cuBLAS 13.0 gets wrong by this suite's contract, seen on an H200 by gemmwatch-check: with
/// alpha = beta = 1 some of its 16-bit kernels round A B to the storage type, add C, and round
/// again.
inline Refusal rounds_twice(const Problem& problem) {
  if (element_bytes(problem.precision) == 2 && problem.beta == 1)
    return "with beta = 1 the library rounds a 16-bit result twice";
  return std::nullopt;
}

/// The libraries want a leading dimension of at least 1 even for an empty matrix.
inline std::int64_t at_least_one(std::int64_t ld) { return ld > 0 ? ld : 1; }

}  // namespace gemm::vendor

#define GEMM_CUBLAS(call) ::gemm::vendor::check((call), #call)
