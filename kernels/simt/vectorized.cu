// Rung: vectorized. Every access moves 16 bytes, and no two of a warp meet in a bank.
//
// Idea: the rung below moves one word an instruction, 16 loads for 64 multiply-adds. Here device
// memory, shared memory and C are accessed 16 bytes at a time: 4 loads for 64 multiply-adds. That
// needs the panels of A and B as [k][outer] in shared memory, so whichever operand is contiguous
// along k is transposed on its way in, word by word. A plain transposition would put the rows
// that a warp writes at once into the same banks; 16 bytes of padding a row put them into others
// (device/panel_map.hpp, and bank_conflicts_test.cpp, which counts). Panels that lie wholly inside
// an operand are read without a mask.
//
// A thread's 8 x 8 patch is four patches of 4 x 4, 64 apart, so that the 16-byte reads of
// neighbouring threads are neighbours.
//
// Bytes: as before, 1 byte of shared memory a multiply-add and 32 flops a byte of device memory;
// the instructions that move them are a quarter. A step of k takes 12 passes of shared memory a
// warp, 96 for the 8 warps of a block in the 128 cycles that they multiply for. What remains is
// that the multiply-adds stand still while a panel is on its way.
#include "kernels/device/panel.cuh"
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"
#include "kernels/lesson.hpp"

namespace gemm::simt::vectorized {

using namespace gemm::device;

constexpr int tile_m = 128, tile_n = 128, tile_k = 16;
constexpr int threads = 256;  // 16 x 16, each with 8 x 8 outputs
template <int outer>
constexpr int pitch = gemm::lesson("bank_conflicts") ? outer : panel_pitch<outer>;

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads, 2) gemm_vectorized(Product<Storage> p) {
  __shared__ alignas(16) float panel_a[tile_k][pitch<tile_m>];
  __shared__ alignas(16) float panel_b[tile_k][pitch<tile_n>];

  const auto [batch, row0, column0] = tile_origin<tile_m, tile_n>(p);
  PanelShare<Storage, a_k_contiguous, tile_m, tile_k, threads> a_share(
      operand_a(p, batch, a_k_contiguous), row0);
  PanelShare<Storage, b_k_contiguous, tile_n, tile_k, threads> b_share(
      operand_b(p, batch, b_k_contiguous), column0);
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;

  if constexpr (gemm::fault("vectorized_beta_squared")) p.beta *= p.beta;
  float sum[2][4][2][4] = {};
  for (long long k0 = 0; k0 < p.k; k0 += tile_k) {
    a_share.load(p.k - k0);
    b_share.load(p.k - k0);
    a_share.store(panel_a);
    b_share.store(panel_b);
    __syncthreads();
#pragma unroll 2  // all of them would be read ahead into more registers than there are
    for (int k = 0; k < tile_k; ++k) {
      float a[2][4], b[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        read_four(a[half], panel_a, k, half * 64 + row);
        read_four(b[half], panel_b, k, half * 64 + column);
      }
      if constexpr (gemm::fault("vectorized_wrong_rows"))
        if (k == 5) read_four(a[0], panel_a, k, row ^ 8);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sum[i / 4][i % 4][j / 4][j % 4] =
              fmaf(a[i / 4][i % 4], b[j / 4][j % 4], sum[i / 4][i % 4][j / 4][j % 4]);
    }
    __syncthreads();
  }

#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store_four(p, batch, row0 + i / 4 * 64 + row + i % 4, column0 + half * 64 + column,
                 sum[i / 4][i % 4][half]);
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_layout(problem, operands, tile_m, tile_n,
                                [](auto a_k_contiguous, auto b_k_contiguous, const auto& product,
                                   cudaStream_t stream, unsigned grid) {
                                  gemm_vectorized<gemm::cuda::StorageOf<decltype(product)>,
                                                  a_k_contiguous(), b_k_contiguous()>
                                      <<<grid, threads, 0, stream>>>(product);
                                });
}

const gemm::Register registered{
    {.name = "vectorized",
     .stage = gemm::Stage::vectorized,
     .idea = "16-byte accesses everywhere, and reads without bank conflicts",
     .arch = gemm::Arch::any,
     .refuses = gemm::cuda::refuses_tf32,
     .launch = launch}};

}  // namespace gemm::simt::vectorized
