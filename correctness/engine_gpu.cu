// The GPU's engine: one kernel for element-wise work, one that also counts, and cuBLAS in FP64.
#include <algorithm>

#include "correctness/cuda_check.hpp"
#include "correctness/elementwise.hpp"
#include "correctness/memory.hpp"
#include "kernels/vendor/cublas_common.hpp"

namespace gemm {
namespace {

constexpr int block_size = 256;

unsigned blocks(std::int64_t count) {
  constexpr std::int64_t enough_for_any_gpu = 4096;
  return static_cast<unsigned>(std::min((count + block_size - 1) / block_size, enough_for_any_gpu));
}

template <class Function>
__global__ void for_each_kernel(std::int64_t count, Function function) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) function(i);
}

/// The largest value of a warp's threads, to where the largest of all is kept. What is folded so is
/// not negative, and such floats are ordered as their bits are.
__device__ void keep_largest(float mine, float* largest) {
  const unsigned of_warp = __reduce_max_sync(0xffffffffu, __float_as_uint(mine));
  if (threadIdx.x % warpSize == 0 && of_warp > 0)
    atomicMax(reinterpret_cast<unsigned*>(largest), of_warp);
}

// Each thread folds its own elements, then a warp its threads, so that there are few atomics.
template <class Function>
__global__ void tally_kernel(std::int64_t count, Function function, Tally* tally) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned wrong = 0;
  float worst = 0, error = 0, magnitude = 0;
  unsigned long long first = ~0ull;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) {
    const Judgement judgement = function(i);
    if (judgement.wrong && wrong++ == 0) first = static_cast<unsigned long long>(i);
    worst = fmaxf(worst, judgement.share);
    error = fmaxf(error, judgement.error);
    magnitude = fmaxf(magnitude, judgement.magnitude);
  }

  __syncwarp();
  const unsigned warp_wrong = __reduce_add_sync(0xffffffffu, wrong);
  if (wrong > 0) atomicMin(&tally->first, first);
  if (threadIdx.x % warpSize == 0 && warp_wrong > 0)
    atomicAdd(&tally->wrong, static_cast<unsigned long long>(warp_wrong));
  keep_largest(worst, &tally->worst_share);
  keep_largest(error, &tally->largest_error);
  keep_largest(magnitude, &tally->largest_magnitude);
}

template <class Function>
__global__ void sum_kernel(std::int64_t count, Function function, unsigned long long* sum) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) mine += function(i);
  for (int away = warpSize / 2; away > 0; away /= 2)
    mine += __shfl_down_sync(0xffffffffu, mine, away);
  if (threadIdx.x % warpSize == 0) atomicAdd(sum, mine);
}

struct GpuLauncher {
  template <class Function>
  void for_each(std::int64_t count, const Function& function) const {
    if (count == 0) return;
    for_each_kernel<<<blocks(count), block_size>>>(count, function);
    GEMM_CUDA(cudaGetLastError());
  }

  template <class Function>
  Tally tally(std::int64_t count, const Function& function) const {
    Tally tally;
    if (count == 0) return tally;
    auto* on_gpu = static_cast<Tally*>(tally_.data());
    copy(on_gpu, Space::gpu, &tally, Space::host, sizeof tally);
    tally_kernel<<<blocks(count), block_size>>>(count, function, on_gpu);
    GEMM_CUDA(cudaGetLastError());
    copy(&tally, Space::host, on_gpu, Space::gpu, sizeof tally);
    return tally;
  }

  template <class Function>
  std::uint64_t sum(std::int64_t count, const Function& function) const {
    unsigned long long sum = 0;
    if (count == 0) return sum;
    auto* on_gpu = static_cast<unsigned long long*>(sum_.data());
    copy(on_gpu, Space::gpu, &sum, Space::host, sizeof sum);
    sum_kernel<<<blocks(count), block_size>>>(count, function, on_gpu);
    GEMM_CUDA(cudaGetLastError());
    copy(&sum, Space::host, on_gpu, Space::gpu, sizeof sum);
    return sum;
  }

  Buffer tally_{Space::gpu, sizeof(Tally)}, sum_{Space::gpu, sizeof(unsigned long long)};
};

class GpuEngine : public ElementwiseEngine<GpuLauncher> {
 public:
  // Never destroyed: the process ends, and with it the context, before a destructor could run.
  GpuEngine() {
    GEMM_CUBLAS(cublasCreate(&handle_));
    GEMM_CUBLAS(cublasSetMathMode(handle_, CUBLAS_PEDANTIC_MATH));
  }

  // cuBLAS stores by columns: it sees our C as C^T = op(B)^T op(A)^T.
  void multiply(const Fp64Product& product, const double* a, const double* b,
                double* c) const override {
    const auto m = static_cast<int>(product.m), n = static_cast<int>(product.n);
    const auto k = static_cast<int>(product.k);
    const double one = 1, zero = 0;
    GEMM_CUBLAS(cublasDgemm(handle_, vendor::operation(product.b_transposed),
                            vendor::operation(product.a_transposed), n, m, k, &one, b,
                            product.b_transposed ? k : n, a, product.a_transposed ? m : k, &zero, c,
                            n));
  }

 private:
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

const Engine& gpu_engine() {
  static const GpuEngine& gpu = *new GpuEngine;
  return gpu;
}

}  // namespace gemm
