// Where the suite's vocabulary meets CUDA: turns a Problem and its Operands into the typed product
// that a rung takes, and a failed launch into an exception.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#include "kernels/device/matrix.cuh"
#include "kernels/device/number.cuh"
#include "kernels/gemm.hpp"

namespace gemm::cuda {

/// CUDA-core rungs multiply in FP32, so that TF32 would be their FP32 measured twice.
inline Refusal refuses_tf32(const Problem& problem) {
  if (problem.precision == Precision::tf32)
    return "tf32 is a mode of the tensor cores; a CUDA-core rung computes fp32";
  return std::nullopt;
}

inline Refusal refuses_fp32(const Problem& problem) {
  if (problem.precision == Precision::fp32) return "tensor cores multiply no fp32; see tf32";
  return std::nullopt;
}

/// What mma and wgmma cannot do: they read 16-bit operands in either direction, others along k
/// only.
inline Refusal refuses_fp32_and_tf32_across_k(const Problem& problem) {
  if (problem.precision == Precision::tf32 && problem.layout != Layout::nt)
    return "tf32 wants both operands contiguous along k (nt): only 16-bit elements are transposed";
  return refuses_fp32(problem);
}

template <class Storage>
device::Product<Storage> product(const Problem& problem, const Operands& operands) {
  const auto matrix = [](auto* data, bool transposed, std::int64_t ld, std::int64_t stride) {
    return transposed ? device::Matrix<std::remove_pointer_t<decltype(data)>>{data, 1, ld, stride}
                      : device::Matrix<std::remove_pointer_t<decltype(data)>>{data, ld, 1, stride};
  };
  const bool reads_operands = problem.alpha != 0;  // alpha = 0 must not read A and B
  return {.m = problem.shape.m,
          .n = problem.shape.n,
          .k = reads_operands ? problem.shape.k : 0,
          .a = matrix(static_cast<const Storage*>(operands.a), problem.a_transposed(),
                      problem.lda(), problem.a_stride()),
          .b = matrix(static_cast<const Storage*>(operands.b), problem.b_transposed(),
                      problem.ldb(), problem.b_stride()),
          .c = matrix(static_cast<Storage*>(operands.c), false, problem.ldc(), problem.c_stride()),
          .alpha = static_cast<float>(problem.alpha),
          .beta = static_cast<float>(problem.beta)};
}

/// Tiles of tile_m x tile_n that cover C, all batches: one block each, in one grid dimension, since
/// the other two end at 65535.
inline unsigned blocks(const Problem& problem, std::int64_t tile_m, std::int64_t tile_n) {
  const std::int64_t count = (problem.shape.m + tile_m - 1) / tile_m *
                             ((problem.shape.n + tile_n - 1) / tile_n) * problem.batch;
  if (count > 0x7fffffff)
    throw std::runtime_error("a grid of " + std::to_string(count) + " blocks passes 2^31 - 1");
  return static_cast<unsigned>(count);
}

/// SMs of the device.
inline unsigned multiprocessors() {
  static const unsigned count = [] {
    int device = 0, value = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
      throw std::runtime_error("cannot ask the device how many SMs it has");
    return static_cast<unsigned>(value);
  }();
  return count;
}

/// Launches `kernel<Storage>` for the problem's storage type, unless C is empty.
/// `launch` is called as launch(product, stream, blocks of tile_m x tile_n).
template <class Launch>
void launch_for_storage(const Problem& problem, const Operands& operands, std::int64_t tile_m,
                        std::int64_t tile_n, Launch launch) {
  const unsigned grid = blocks(problem, tile_m, tile_n);
  if (grid == 0) return;
  const auto stream = static_cast<cudaStream_t>(operands.stream);
  switch (problem.precision) {
    case Precision::fp32:
    case Precision::tf32:
      launch(product<float>(problem, operands), stream, grid);
      break;
    case Precision::fp16:
      launch(product<__half>(problem, operands), stream, grid);
      break;
    case Precision::bf16:
      launch(product<__nv_bfloat16>(problem, operands), stream, grid);
      break;
  }
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    throw std::runtime_error(std::string("launch failed: ") + cudaGetErrorString(error));
}

template <class>
struct StorageOfProduct;
template <class Storage>
struct StorageOfProduct<device::Product<Storage>> {
  using type = Storage;
};
/// float for (a reference to) Product<float>, and so on.
template <class Product>
using StorageOf = typename StorageOfProduct<std::remove_cvref_t<Product>>::type;

/// As launch_for_storage, for kernels that are compiled for each layout: `launch` is called as
/// launch(a_k_contiguous, b_k_contiguous, product, stream, grid), the first two std::bool_constants
/// that say whether k is the contiguous direction of A and of B.
template <class Launch>
void launch_for_layout(const Problem& problem, const Operands& operands, std::int64_t tile_m,
                       std::int64_t tile_n, Launch launch) {
  launch_for_storage(problem, operands, tile_m, tile_n,
                     [&](const auto& product, cudaStream_t stream, unsigned grid) {
                       using std::false_type, std::true_type;
                       switch (problem.layout) {
                         case Layout::nn:
                           launch(true_type{}, false_type{}, product, stream, grid);
                           break;
                         case Layout::nt:
                           launch(true_type{}, true_type{}, product, stream, grid);
                           break;
                         case Layout::tn:
                           launch(false_type{}, false_type{}, product, stream, grid);
                           break;
                         case Layout::tt:
                           launch(false_type{}, true_type{}, product, stream, grid);
                           break;
                       }
                     });
}

}  // namespace gemm::cuda
