// Rung: warp_tiled. A level of tiling that matches the warp.
//
// Idea: in the rungs below a warp's 32 threads lie 2 x 16 over the tile, so that for a step of k a
// warp reads 2 x 4 words of A and 16 x 4 of B, twice. Here a warp owns a compact piece, 64 x 64,
// and its threads lie 8 x 4 over it. Threads that want the same words get them from one read, and
// each thread keeps 8 x 16 outputs: 6 16-byte reads for 128 multiply-adds, where it had been 4
// for 64. Shared memory serves such a read in 4 passes, or in 2 if neighbouring lanes want the same
// words; the lanes lie so that neighbours do, for A in one direction and for B in the other
// (device/panel_map.hpp).
//
// Bytes: 128 words of shared memory a warp for 4096 multiply-adds, where it had been 288, and 12
// passes, where it had been 24: 96 of the 256 cycles that an SM multiplies for. A 128 x 256 tile
// takes 43 flops a byte of device memory in FP32. The bound is now the rate at which a scheduler
// issues multiply-adds, less the slots of loads and addresses.
//
// A large tile leaves a small problem too few blocks, so there is a 128 x 128 one for those.
#include "kernels/device/panel.cuh"
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"
#include "kernels/lesson.hpp"
#include "kernels/simt/shared_memory.cuh"

namespace gemm::simt::warp_tiled {

using namespace gemm::device;

constexpr int tile_m = 128, tile_k = 16;
constexpr int warps = 8, threads = warps * 32;
constexpr int blocks = gemm::lesson("register_spills") ? 2 : 1;  // that an SM shall hold
constexpr int lanes_m = 8, lanes_n = 4;  // how a warp's threads lie over its piece
using Lanes = LaneMap<lanes_m, lanes_n>;
// A thread's outputs come in groups of four neighbours, one group from each part of the warp's
// piece.
constexpr int part_m = lanes_m * 4, part_n = lanes_n * 4;
constexpr int warp_m = 64, groups_m = warp_m / part_m;

/// Two of each, in dynamic shared memory.
template <int tile_n>
struct Panels {
  float a[2][tile_k][panel_pitch<tile_m>], b[2][tile_k][panel_pitch<tile_n>];
};

template <int tile_n, class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads, blocks) gemm_warp_tiled(Product<Storage> p) {
  constexpr int warp_n = tile_m * tile_n / warps / warp_m, groups_n = warp_n / part_n;
  extern __shared__ __align__(16) char memory[];
  auto& panels = *reinterpret_cast<Panels<tile_n>*>(memory);

  const auto [batch, row0, column0] = tile_origin<tile_m, tile_n>(p);
  PanelShare<Storage, a_k_contiguous, tile_m, tile_k, threads> a_share(
      operand_a(p, batch, a_k_contiguous), row0);
  PanelShare<Storage, b_k_contiguous, tile_n, tile_k, threads> b_share(
      operand_b(p, batch, b_k_contiguous), column0);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / (tile_n / warp_n) * warp_m + Lanes::row(lane) * 4;
  const int column = warp % (tile_n / warp_n) * warp_n + Lanes::column(lane) * 4;

  const auto load = [&](long long k0) {
    a_share.load(p.k - k0);
    b_share.load(p.k - k0);
  };
  const auto store = [&](int stage) {
    a_share.store(panels.a[stage]);
    b_share.store(panels.b[stage]);
    __syncthreads();
  };

  if constexpr (gemm::fault("warp_tiled_last_k_tile_dropped")) p.k = (p.k - 1) / tile_k * tile_k;
  if constexpr (gemm::fault("warp_tiled_beta_ignored")) p.beta = 0;
  float sum[groups_m][4][groups_n][4] = {};
  if (p.k > 0) {
    load(0);
    store(0);
  }
  int stage = 0;
  for (long long k0 = 0; k0 < p.k; k0 += tile_k, stage ^= 1) {
    const bool more = k0 + tile_k < p.k;
    if (more) load(k0 + tile_k);
#pragma unroll
    for (int k = 0; k < tile_k; ++k) {
      float a[groups_m][4], b[groups_n][4];
#pragma unroll
      for (int g = 0; g < groups_m; ++g) read_four(a[g], panels.a[stage], k, row + g * part_m);
#pragma unroll
      for (int g = 0; g < groups_n; ++g) read_four(b[g], panels.b[stage], k, column + g * part_n);
#pragma unroll
      for (int i = 0; i < groups_m * 4; ++i)
#pragma unroll
        for (int j = 0; j < groups_n * 4; ++j)
          sum[i / 4][i % 4][j / 4][j % 4] =
              fmaf(a[i / 4][i % 4], b[j / 4][j % 4], sum[i / 4][i % 4][j / 4][j % 4]);
    }
    if (more) store(stage ^ 1);
  }

#pragma unroll
  for (int i = 0; i < groups_m * 4; ++i)
#pragma unroll
    for (int g = 0; g < groups_n; ++g)
      store_four(p, batch, row0 + row + i / 4 * part_m + i % 4, column0 + column + g * part_n,
                 sum[i / 4][i % 4][g]);
}

template <int tile_n>
static void launch_tile(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_layout(
      problem, operands, tile_m, tile_n,
      [](auto a_k_contiguous, auto b_k_contiguous, const auto& product, cudaStream_t stream,
         unsigned grid) {
        const auto kernel = gemm_warp_tiled<tile_n, gemm::cuda::StorageOf<decltype(product)>,
                                            a_k_contiguous(), b_k_contiguous()>;
        want_shared_memory(kernel, sizeof(Panels<tile_n>));
        kernel<<<grid, threads, sizeof(Panels<tile_n>), stream>>>(product);
      });
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  if (gemm::cuda::blocks(problem, tile_m, 256) >= gemm::cuda::multiprocessors())
    launch_tile<256>(problem, operands);
  else
    launch_tile<128>(problem, operands);
}

const gemm::Register registered{{.name = "warp_tiled",
                                 .stage = gemm::Stage::warp_tiled,
                                 .idea = "each warp owns a compact 64 x 64 piece of the tile",
                                 .arch = gemm::Arch::any,
                                 .refuses = gemm::cuda::refuses_tf32,
                                 .launch = launch,
                                 .tile = {tile_m, 128, 1}}};

}  // namespace gemm::simt::warp_tiled
