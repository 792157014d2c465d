// Rung: register_tiled_2d. Each thread keeps a square patch of outputs in registers.
//
// Idea: 8 + 8 words from shared memory feed 8 x 8 multiply-adds: reuse in both directions, where
// the column of the rung below reused B only.
//
// Bytes: 16 words for 64 multiply-adds, 1 byte each, a quarter of the rung below. From device
// memory a 128 x 128 tile takes 32 flops a byte in FP32. Now the FP32 units can be kept busy; what
// is left to win is in how the words travel: one at a time, with the address arithmetic of each,
// and with waits between a load and its use.
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::simt::register_tiled_2d {

constexpr int tile_m = 128, tile_n = 128, tile_k = 8;
constexpr int patch = 8;  // a thread computes patch x patch outputs
constexpr int threads = (tile_m / patch) * (tile_n / patch);
constexpr int loads = tile_m * tile_k / threads;  // elements of A, and of B, that a thread brings
static_assert(tile_m == tile_n, "A and B are brought by the same arithmetic");

template <class Storage>
static __global__ void __launch_bounds__(threads)
    gemm_register_2d(gemm::device::Product<Storage> p) {
  __shared__ float tile_a[tile_k][tile_m + 1];
  __shared__ float tile_b[tile_k][tile_n + 1];

  const auto [batch, row0, column0] = gemm::device::tile_origin<tile_m, tile_n>(p);
  const int row = threadIdx.x / (tile_n / patch) * patch;
  const int column = threadIdx.x % (tile_n / patch) * patch;
  const bool a_by_row = p.a.column_stride == 1, b_by_row = p.b.column_stride == 1;

  float sum[patch][patch] = {};
  if constexpr (gemm::fault("register_2d_block_never_written"))
    if (blockIdx.x == 1) return;
  for (long long k0 = 0; k0 < p.k; k0 += tile_k) {
    // Threads walk the contiguous direction of each operand.
#pragma unroll
    for (int load = 0; load < loads; ++load) {
      const int t = threadIdx.x + load * threads;
      const int a_i = a_by_row ? t / tile_k : t % tile_m, a_k = a_by_row ? t % tile_k : t / tile_m;
      const int b_j = b_by_row ? t % tile_n : t / tile_k, b_k = b_by_row ? t / tile_n : t % tile_k;
      tile_a[a_k][a_i] = p.a_or_zero(batch, row0 + a_i, k0 + a_k);
      tile_b[b_k][b_j] = p.b_or_zero(batch, k0 + b_k, column0 + b_j);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_k; ++k) {
      float a[patch], b[patch];
#pragma unroll
      for (int i = 0; i < patch; ++i) {
        a[i] = tile_a[k][row + i];
        b[i] = tile_b[k][column + i];
      }
#pragma unroll
      for (int i = 0; i < patch; ++i)
#pragma unroll
        for (int j = 0; j < patch; ++j) sum[i][j] = fmaf(a[i], b[j], sum[i][j]);
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < patch; ++i)
#pragma unroll
    for (int j = 0; j < patch; ++j) {
      if constexpr (gemm::fault("register_2d_edge_off_by_one"))
        if (p.n % tile_n != 0 && column0 + column + j == p.n - 1) continue;
      if (row0 + row + i < p.m && column0 + column + j < p.n)
        gemm::device::store_linear(p.c.at(batch, row0 + row + i, column0 + column + j), sum[i][j],
                                   p.alpha, p.beta);
    }
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_storage(problem, operands, tile_m, tile_n,
                                 [](const auto& product, cudaStream_t stream, unsigned grid) {
                                   gemm_register_2d<<<grid, threads, 0, stream>>>(product);
                                 });
}

const gemm::Register registered{{.name = "register_tiled_2d",
                                 .stage = gemm::Stage::register_tiled_2d,
                                 .idea = "each thread keeps an 8 x 8 patch of outputs in registers",
                                 .arch = gemm::Arch::any,
                                 .refuses = gemm::cuda::refuses_tf32,
                                 .launch = launch}};

}  // namespace gemm::simt::register_tiled_2d
