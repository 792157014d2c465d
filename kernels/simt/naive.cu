// Rung: naive. One thread computes one output, straight from the definition.
//
// Idea: none yet; this is where the ladder stands. Neighbouring threads take neighbouring rows, the
// way a first CUDA program often does, so that for row-major operands a warp's 32 loads of A and 32
// stores of C fall into 32 different lines.
//
// Bytes: every output reads k elements of A and k of B, 8 bytes for 2 flops in FP32 (0.25 flop a
// byte). What saves it from memory speed is the L1 cache; what limits it is the load unit, which
// serves such a warp one line at a time.
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::simt::naive {

constexpr int tile = 32;  // a block computes 32 x 32 outputs

template <class Storage>
static __global__ void __launch_bounds__(tile* tile) gemm_naive(gemm::device::Product<Storage> p) {
  const auto [batch, row0, column0] = gemm::device::tile_origin<tile, tile>(p);
  const long long row = row0 + threadIdx.x, column = column0 + threadIdx.y;
  if (row >= p.m || column >= p.n) return;

  float sum = 0;
  for (long long k = 0; k < p.k; ++k) {
    sum = fmaf(gemm::device::widen(*p.a.at(batch, row, k)),
               gemm::device::widen(*p.b.at(batch, k, column)), sum);
    if constexpr (gemm::fault("naive_bf16_accumulator"))
      sum = __bfloat162float(__float2bfloat16_rn(sum));
  }
  gemm::device::store_linear(p.c.at(batch, row, column), sum, p.alpha, p.beta);
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_storage(problem, operands, tile, tile,
                                 [](const auto& product, cudaStream_t stream, unsigned grid) {
                                   if constexpr (gemm::fault("naive_grid_limit"))
                                     grid = grid < 65535 ? grid : 65535;
                                   gemm_naive<<<grid, dim3(tile, tile), 0, stream>>>(product);
                                 });
}

const gemm::Register registered{{.name = "naive",
                                 .stage = gemm::Stage::naive,
                                 .idea = "one thread, one output, straight from the definition",
                                 .arch = gemm::Arch::any,
                                 .refuses = gemm::cuda::refuses_tf32,
                                 .launch = launch}};

}  // namespace gemm::simt::naive
