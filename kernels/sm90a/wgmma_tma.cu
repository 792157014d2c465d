// Rung: wgmma_tma. The copy engine fills swizzled tiles, and a warpgroup multiplies from shared
// memory.
//
// Idea: two units of Hopper take over what threads had done one instruction at a time. The copy
// engine (TMA) brings a whole panel for one instruction of one thread, places it in the swizzle
// that the tensor core reads without bank conflicts, fills with zero beyond the edges, and reports
// its bytes to a barrier in shared memory. wgmma multiplies a 64 x 256 piece of C straight from
// shared memory: no ldmatrix, no operands in registers, and it runs on while the warpgroup does
// something else. 16-bit operands may be contiguous along k or along m and n: wgmma reads either.
//
// Bytes: a 128 x 256 tile takes 85 flops a byte of device memory in 16 bits, over four stages of 48
// KB, so that three panels are on their way. What is left to win: all threads meet at a barrier at
// every panel, and nothing is multiplied while a tile is stored.
#include "kernels/device/wgmma_tile.cuh"
#include "kernels/fault.hpp"
#include "kernels/sm90a/launch.cuh"

namespace gemm::sm90a::wgmma_tma {

using namespace gemm::device;
using namespace gemm::device::wgmma;

constexpr int tile_m = 128, tile_n = 256, stages = 4;
constexpr int groups = 2, threads = groups * 128;
constexpr int memory_bytes =
    stages * (tile_m + tile_n) * line_bytes + groups * 4 * staging_bytes + atom_bytes;

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads, 1)
    gemm_wgmma_tma(const Product<Storage> p, const __grid_constant__ CUtensorMap map_a,
                   const __grid_constant__ CUtensorMap map_b) {
  using Both = PipelineStage<Storage, a_k_contiguous, b_k_contiguous, tile_m, tile_n>;
  extern __shared__ char memory[];
  __shared__ alignas(8) std::uint64_t full_barriers[stages];
  const unsigned gap = -shared_address(memory) % atom_bytes;  // the stages start on an atom
  const unsigned panels_at = shared_address(memory) + gap;
  const auto full = [&](int stage) { return shared_address(&full_barriers[stage]); };

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) mbarrier_init(full(stage), 1);
    fence_mbarrier_init();
  }
  __syncthreads();

  const TileOrigin tile = tile_origin<tile_m, tile_n>(p);
  const int panels = static_cast<int>((p.k + per_line<Storage> - 1) / per_line<Storage>);
  const auto copy = [&](int panel) {
    if (threadIdx.x == 0 && panel < panels)
      Both::copy(panels_at + panel % stages * Both::bytes, &map_a, &map_b, tile, panel,
                 full(panel % stages));
  };

  const int warp = threadIdx.x / 32;
  // By a shuffle, so that the compiler knows it to be one for the warp: descriptors then are, too.
  const int group = __shfl_sync(0xffffffff, warp / 4, 0);
  float sum[1][128] = {};
  for (int panel = 0; panel < stages - 1; ++panel) copy(panel);
#pragma unroll 1  // a copy of the loop would make ptxas wait after each wgmma
  for (int panel = 0; panel < panels; ++panel) {
    const int stage = panel % stages;
    int round = panel / stages;
    if constexpr (gemm::fault("wgmma_tma_wrong_parity")) round = 0;
    mbarrier_wait_parity(full(stage), round % 2);
    Both::multiply(sum, {panels_at + stage * Both::bytes, group * group_m});
    wgmma_wait_group<1>();
    __syncthreads();  // the panel before this one is done with, for everybody: its stage is free
    copy(panel + stages - 1);
  }
  wgmma_wait_group<0>();
  store_tile(p, tile, group * group_m, sum,
             memory + gap + stages * Both::bytes + warp * staging_bytes);
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::sm90a::launch_for_layout(
      problem, operands, tile_m, tile_n, 1,
      [](auto a_k_contiguous, auto b_k_contiguous, const auto& product,
         const gemm::sm90a::Maps& maps, cudaStream_t stream, unsigned tiles) {
        using Storage = gemm::cuda::StorageOf<decltype(product)>;
        gemm::sm90a::launch(gemm_wgmma_tma<Storage, a_k_contiguous(), b_k_contiguous()>, tiles,
                            threads, memory_bytes, stream, product, maps);
      });
}

const gemm::Register registered{
    {.name = "wgmma_tma",
     .stage = gemm::Stage::wgmma_tma,
     .idea = "the copy engine fills tiles, a warpgroup multiplies from them",
     .arch = gemm::Arch::sm90a,
     .refuses = gemm::sm90a::refuses,
     .launch = launch}};

}  // namespace gemm::sm90a::wgmma_tma
