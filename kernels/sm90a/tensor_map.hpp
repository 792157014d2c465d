// Tensor maps: what the copy engine must know of a matrix, made on the host for each launch.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "kernels/gemm.hpp"
#include "kernels/launch.cuh"

namespace gemm::sm90a {

/// A batch of matrices as stored. All in elements.
struct Stored {
  const void* data;
  std::int64_t length, lines;              // along the contiguous direction, and across
  std::int64_t line_stride, batch_stride;  // between lines, and between matrices
  std::int64_t batch;
};

inline Stored stored_a(const Problem& problem, const Operands& operands) {
  const bool t = problem.a_transposed();
  return {operands.a,         t ? problem.shape.m : problem.shape.k,
          problem.a_rows(),   problem.lda(),
          problem.a_stride(), problem.batch};
}
inline Stored stored_b(const Problem& problem, const Operands& operands) {
  const bool t = problem.b_transposed();
  return {operands.b,         t ? problem.shape.k : problem.shape.n,
          problem.b_rows(),   problem.ldb(),
          problem.b_stride(), problem.batch};
}

inline CUtensorMapDataType element_type(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case Precision::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case Precision::fp32:
    case Precision::tf32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
  throw std::logic_error("a precision without a tensor-map type");
}

/// The driver's encoder, found at run time so that nothing links the driver.
inline PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  static const auto found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                         cudaEnableDefault, &result) != cudaSuccess ||
        result != cudaDriverEntryPointSuccess)
      throw std::runtime_error("the driver has no cuTensorMapEncodeTiled");
    return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
  }();
  return found;
}

/// A map whose boxes are 128 bytes by `box_lines` lines, swizzled over 128 bytes.
inline CUtensorMap tensor_map(Precision precision, const Stored& matrix, unsigned box_lines) {
  const std::uint64_t element = element_bytes(precision);
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(matrix.length),
                              static_cast<cuuint64_t>(matrix.lines),
                              static_cast<cuuint64_t>(matrix.batch)};
  const cuuint64_t strides[] = {matrix.line_stride * element, matrix.batch_stride * element};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(128 / element), box_lines, 1};
  const cuuint32_t steps[] = {1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      encoder()(&map, element_type(precision), 3, const_cast<void*>(matrix.data), sizes, strides,
                box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled: error " + std::to_string(result));
  return map;
}

/// What the copy engine and wgmma cannot do.
inline Refusal refuses(const Problem& problem) {
  if (Refusal reason = cuda::refuses_fp32_and_tf32_across_k(problem)) return reason;
  for (const std::int64_t side : {problem.shape.m, problem.shape.n, problem.shape.k, problem.batch})
    if (side > 0x7fffffff)
      return "the copy engine counts to 2^31 - 1 in each direction, not to " + std::to_string(side);
  const auto bytes = static_cast<std::int64_t>(element_bytes(problem.precision));
  for (const std::int64_t stride :
       {problem.lda(), problem.ldb(), problem.a_stride(), problem.b_stride()})
    if (stride * bytes % 16 != 0)
      return "the copy engine wants lines that start on 16 bytes: " + std::to_string(stride) +
             " elements apart is no multiple";
  return std::nullopt;
}

}  // namespace gemm::sm90a
