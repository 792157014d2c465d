// Rung: tiled. A block reads each tile of A and B once and shares it.
//
// Idea: 32 x 32 outputs of one block need the same 32 rows of A and 32 columns of B. The block
// copies a 32 x 32 tile of each into shared memory, all threads multiply from there, and the walk
// moves on along k. Neighbouring threads now take neighbouring columns, so that global accesses of
// row-major operands coalesce.
//
// Bytes: a tile step loads 2 * 32 * 32 elements for 2 * 32^3 flops: 8 flops a byte in FP32, 32
// times the naive rung, which lifts it off device memory. The new bound is shared memory: each
// multiply-add reads two words from it, so that the FP32 units wait for their operands.
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::simt::tiled {

constexpr int tile = 32;

template <class Storage>
static __global__ void __launch_bounds__(tile* tile) gemm_tiled(gemm::device::Product<Storage> p) {
  __shared__ float tile_a[tile][tile];
  __shared__ float tile_b[tile]
                         [tile + 1];  // one word of padding: a transposed B is stored by column

  const auto [batch, row0, column0] = gemm::device::tile_origin<tile, tile>(p);
  const int x = threadIdx.x, y = threadIdx.y;

  // The x lanes of a warp walk the contiguous direction of each operand, whichever that is.
  const bool a_by_row = p.a.column_stride == 1, b_by_row = p.b.column_stride == 1;
  const int a_i = a_by_row ? y : x, a_k = a_by_row ? x : y;
  const int b_k = b_by_row ? y : x, b_j = b_by_row ? x : y;

  if constexpr (gemm::fault("tiled_last_k_dropped"))
    if (p.k > 1) --p.k;
  if constexpr (gemm::fault("tiled_ld_ignored")) p.c.row_stride = p.n;
  float sum = 0;
  for (long long k0 = 0; k0 < p.k; k0 += tile) {
    tile_a[a_i][a_k] = p.a_or_zero(batch, row0 + a_i, k0 + a_k);
    tile_b[b_k][b_j] = p.b_or_zero(batch, k0 + b_k, column0 + b_j);
    if constexpr (!gemm::fault("tiled_missing_barrier")) __syncthreads();
#pragma unroll
    for (int k = 0; k < tile; ++k) sum = fmaf(tile_a[y][k], tile_b[k][x], sum);
    __syncthreads();  // nobody overwrites a tile that somebody still reads
  }

  const long long row = row0 + y, column = column0 + x;
  if (row < p.m && column < p.n)
    gemm::device::store_linear(p.c.at(batch, row, column), sum, p.alpha, p.beta);
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_storage(problem, operands, tile, tile,
                                 [](const auto& product, cudaStream_t stream, unsigned grid) {
                                   gemm_tiled<<<grid, dim3(tile, tile), 0, stream>>>(product);
                                 });
}

const gemm::Register registered{{.name = "tiled",
                                 .stage = gemm::Stage::tiled,
                                 .idea = "a block reads each tile once and shares it",
                                 .arch = gemm::Arch::any,
                                 .refuses = gemm::cuda::refuses_tf32,
                                 .launch = launch}};

}  // namespace gemm::simt::tiled
