// Rung: double_buffered. The next panels are on their way while these are multiplied.
//
// Idea: the rung below loads, waits, multiplies, waits. Here a step first issues the loads of the
// next panels into registers, then multiplies the present ones, and only then, when the loads have
// had that long to arrive, puts them into a second pair of shared-memory panels. One barrier a step
// is enough, since nobody writes the panels that are being read.
//
// Registers carry the panels because they are transposed and widened on their way. cp.async would
// go past the registers, but copies bytes as they are: the next rung pays for that beforehand.
//
// Bytes: unchanged. The price is 16 registers, of the 128 that two blocks an SM leave a thread.
// What it buys is the latency of device memory, where the second block has not hidden it already:
// at 4096^3 on an H200 3% for 16-bit storage and, with the loop over k unrolled whole, 6% for FP32.
// What remains is how a warp's threads are laid out over the tile.
#include "kernels/device/panel.cuh"
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::simt::double_buffered {

using namespace gemm::device;

constexpr int tile_m = 128, tile_n = 128, tile_k = 16;
constexpr int threads = 256;  // 16 x 16, each with 8 x 8 outputs

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads, 2) gemm_double_buffered(Product<Storage> p) {
  // In a loop that is unrolled whole the compiler reads operands ahead in time: FP32 gains 7%,
  // where it loses 12 to 16% by 4 or 8 steps at once. There are too few registers for it where
  // words are widened or both operands transposed.
  constexpr bool transposes_both = a_k_contiguous && b_k_contiguous;
  [[maybe_unused]] constexpr int at_once = sizeof(Storage) == 4 && !transposes_both ? tile_k : 2;
  __shared__ alignas(16) float panel_a[2][tile_k][panel_pitch<tile_m>];
  __shared__ alignas(16) float panel_b[2][tile_k][panel_pitch<tile_n>];

  const auto [batch, row0, column0] = tile_origin<tile_m, tile_n>(p);
  PanelShare<Storage, a_k_contiguous, tile_m, tile_k, threads> a_share(
      operand_a(p, batch, a_k_contiguous), row0);
  PanelShare<Storage, b_k_contiguous, tile_n, tile_k, threads> b_share(
      operand_b(p, batch, b_k_contiguous), column0);
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;

  const auto load = [&](long long k0) {
    a_share.load(p.k - k0);
    b_share.load(p.k - k0);
  };
  const auto store = [&](int stage) {
    a_share.store(panel_a[stage]);
    b_share.store(panel_b[stage]);
    __syncthreads();
  };

  if constexpr (gemm::fault("double_buffered_tail_wrong_in_one_block"))
    if (blockIdx.x == 1) p.k -= p.k % tile_k;
  float sum[2][4][2][4] = {};
  if (p.k > 0) {
    load(0);
    store(0);
  }
  int stage = 0;
  for (long long k0 = 0; k0 < p.k; k0 += tile_k, stage ^= 1) {
    const bool more = k0 + tile_k < p.k;
    if (more) load(k0 + tile_k);
#pragma unroll at_once
    for (int k = 0; k < tile_k; ++k) {
      float a[2][4], b[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        read_four(a[half], panel_a[stage], k, half * 64 + row);
        read_four(b[half], panel_b[stage], k, half * 64 + column);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sum[i / 4][i % 4][j / 4][j % 4] =
              fmaf(a[i / 4][i % 4], b[j / 4][j % 4], sum[i / 4][i % 4][j / 4][j % 4]);
    }
    if constexpr (gemm::fault("double_buffered_stale_stage"))
      if (blockIdx.x == 1 && k0 == tile_k) continue;
    if (more) store(stage ^ 1);
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
                                  gemm_double_buffered<gemm::cuda::StorageOf<decltype(product)>,
                                                       a_k_contiguous(), b_k_contiguous()>
                                      <<<grid, threads, 0, stream>>>(product);
                                });
}

const gemm::Register registered{
    {.name = "double_buffered",
     .stage = gemm::Stage::double_buffered,
     .idea = "the next panels are on their way while these are multiplied",
     .arch = gemm::Arch::any,
     .refuses = gemm::cuda::refuses_tf32,
     .launch = launch}};

}  // namespace gemm::simt::double_buffered
