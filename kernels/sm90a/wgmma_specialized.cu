// Rung: wgmma_specialized. A producer warpgroup loads, consumer warpgroups multiply.
//
// Idea: in the rung below all threads meet at a barrier after every panel, only to tell one of them
// that a stage is free. Here that one has nothing else to do: a warpgroup of its own brings panels
// as stages become free, the two others multiply as panels become full, and they tell one another
// by barriers in shared memory, "full" and "empty", one pair a stage. Nobody else waits. The
// producer needs few registers, so it hands most of its share to the consumers.
//
// Bytes: as below. What is left to win: nothing is multiplied while a tile is stored, and every
// tile starts with an empty pipeline.
#include "kernels/device/wgmma_tile.cuh"
#include "kernels/fault.hpp"
#include "kernels/sm90a/launch.cuh"

namespace gemm::sm90a::wgmma_specialized {

using namespace gemm::device;
using namespace gemm::device::wgmma;

constexpr int tile_m = 128, tile_n = 256, stages = 4;
constexpr int consumers = 2, threads = (1 + consumers) * 128;
constexpr int producer_registers = 56, consumer_registers = 224;
constexpr int memory_bytes =
    stages * (tile_m + tile_n) * line_bytes + consumers * 4 * staging_bytes + atom_bytes;

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads, 1)
    gemm_wgmma_specialized(const Product<Storage> p, const __grid_constant__ CUtensorMap map_a,
                           const __grid_constant__ CUtensorMap map_b) {
  using Both = PipelineStage<Storage, a_k_contiguous, b_k_contiguous, tile_m, tile_n>;
  extern __shared__ char memory[];
  __shared__ alignas(8) std::uint64_t full_barriers[stages], empty_barriers[stages];
  const unsigned gap = -shared_address(memory) % atom_bytes;  // the stages start on an atom
  const unsigned panels_at = shared_address(memory) + gap;
  const auto full = [&](int stage) { return shared_address(&full_barriers[stage]); };
  const auto empty = [&](int stage) { return shared_address(&empty_barriers[stage]); };

  if (threadIdx.x == 0) {
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(full(stage), 1);
      mbarrier_init(empty(stage), consumers * 4);  // one arrival a warp
    }
    fence_mbarrier_init();
  }
  __syncthreads();

  const TileOrigin tile = tile_origin<tile_m, tile_n>(p);
  const int panels = static_cast<int>((p.k + per_line<Storage> - 1) / per_line<Storage>);

  if (threadIdx.x / 128 == 0) {
    setmaxnreg_dec<producer_registers>();
    if (threadIdx.x == 0)
      for (int panel = 0; panel < panels; ++panel) {
        const int stage = panel % stages;
        // The first round finds every stage empty: a fresh barrier counts as past the odd phase.
        mbarrier_wait_parity(empty(stage), panel / stages % 2 ^ 1);
        Both::copy(panels_at + stage * Both::bytes, &map_a, &map_b, tile, panel, full(stage));
      }
  } else {
    setmaxnreg_inc<consumer_registers>();
    const int warp = threadIdx.x / 32 - 4;
    // By a shuffle, so that the compiler knows it to be one for the warp: descriptors then are,
    // too.
    const int group = __shfl_sync(0xffffffff, warp / 4, 0);
    const auto release = [&](int panel) {
      if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(panel % stages));
    };
    float sum[1][128] = {};
#pragma unroll 1  // a copy of the loop would make ptxas wait after each wgmma
    for (int panel = 0; panel < panels; ++panel) {
      const int stage = panel % stages;
      if constexpr (!gemm::fault("wgmma_specialized_missing_full_wait"))
        mbarrier_wait_parity(full(stage), panel / stages % 2);
      Both::multiply(sum, {panels_at + stage * Both::bytes, group * group_m});
      wgmma_wait_group<1>();
      if (panel > 0) release(panel - 1);
    }
    wgmma_wait_group<0>();
    store_tile(p, tile, group * group_m, sum,
               memory + gap + stages * Both::bytes + warp * staging_bytes);
  }
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::sm90a::launch_for_layout(
      problem, operands, tile_m, tile_n, 1,
      [](auto a_k_contiguous, auto b_k_contiguous, const auto& product,
         const gemm::sm90a::Maps& maps, cudaStream_t stream, unsigned tiles) {
        using Storage = gemm::cuda::StorageOf<decltype(product)>;
        gemm::sm90a::launch(gemm_wgmma_specialized<Storage, a_k_contiguous(), b_k_contiguous()>,
                            tiles, threads, memory_bytes, stream, product, maps);
      });
}

const gemm::Register registered{{.name = "wgmma_specialized",
                                 .stage = gemm::Stage::wgmma_specialized,
                                 .idea = "a producer warpgroup loads, consumer warpgroups multiply",
                                 .arch = gemm::Arch::sm90a,
                                 .refuses = gemm::sm90a::refuses,
                                 .launch = launch}};

}  // namespace gemm::sm90a::wgmma_specialized
