// Rung: register_tiled_1d. Each thread keeps a column of outputs in registers.
//
// Idea: the tiled rung reads two words of shared memory for each multiply-add. Here a thread
// computes 8 outputs of one column: one word of B serves 8 multiply-adds, each with its own word of
// A.
//
// Bytes: a step of k takes 1 + 8 words of shared memory for 8 multiply-adds, 4.5 bytes a
// multiply-add where it had been 8; the words of A are the same for a whole warp (a broadcast).
// From device memory a 64 x 64 tile takes 16 flops a byte in FP32. The bound is still the
// shared-memory pipe: 9 loads for 8 multiply-adds.
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::simt::register_tiled_1d {

constexpr int tile_m = 64, tile_n = 64, tile_k = 8;
constexpr int outputs = 8;  // rows of one column that a thread computes
constexpr int threads = tile_m * tile_n / outputs;
static_assert(threads == tile_m * tile_k && threads == tile_k * tile_n,
              "a thread loads one of each");

template <class Storage>
static __global__ void __launch_bounds__(threads, 2)
    gemm_register_1d(gemm::device::Product<Storage> p) {
  __shared__ float tile_a[tile_k][tile_m + 1];  // by column: a k step reads neighbours
  __shared__ float tile_b[tile_k][tile_n + 1];

  const auto [batch, row0, column0] = gemm::device::tile_origin<tile_m, tile_n>(p);
  const int t = threadIdx.x;
  const int column = t % tile_n, row = t / tile_n * outputs;

  // Threads walk the contiguous direction of each operand.
  const bool a_by_row = p.a.column_stride == 1, b_by_row = p.b.column_stride == 1;
  const int a_i = a_by_row ? t / tile_k : t % tile_m, a_k = a_by_row ? t % tile_k : t / tile_m;
  const int b_j = b_by_row ? t % tile_n : t / tile_k, b_k = b_by_row ? t / tile_n : t % tile_k;

  float sum[outputs] = {};
  if constexpr (gemm::fault("register_1d_sums_not_cleared")) sum[0] = tile_b[row % tile_k][column];
  if constexpr (gemm::fault("register_1d_k_tail_unmasked"))
    p.k = (p.k + tile_k - 1) / tile_k * tile_k;
  for (long long k0 = 0; k0 < p.k; k0 += tile_k) {
    tile_a[a_k][a_i] = p.a_or_zero(batch, row0 + a_i, k0 + a_k);
    tile_b[b_k][b_j] = p.b_or_zero(batch, k0 + b_k, column0 + b_j);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_k; ++k) {
      const float b = tile_b[k][column];  // once for all of the thread's rows
#pragma unroll
      for (int i = 0; i < outputs; ++i) sum[i] = fmaf(tile_a[k][row + i], b, sum[i]);
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < outputs; ++i)
    if (row0 + row + i < p.m && column0 + column < p.n)
      gemm::device::store_linear(p.c.at(batch, row0 + row + i, column0 + column), sum[i], p.alpha,
                                 p.beta);
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_storage(problem, operands, tile_m, tile_n,
                                 [](const auto& product, cudaStream_t stream, unsigned grid) {
                                   gemm_register_1d<<<grid, threads, 0, stream>>>(product);
                                 });
}

const gemm::Register registered{{.name = "register_tiled_1d",
                                 .stage = gemm::Stage::register_tiled_1d,
                                 .idea = "each thread keeps a column of 8 outputs in registers",
                                 .arch = gemm::Arch::any,
                                 .refuses = gemm::cuda::refuses_tf32,
                                 .launch = launch}};

}  // namespace gemm::simt::register_tiled_1d
