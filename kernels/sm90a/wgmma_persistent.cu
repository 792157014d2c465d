// Rung: wgmma_persistent. Both consumers of a block work on one wide tile again.
//
// Idea: what the rung below wins by hiding the store it pays for in traffic: tiles of 128 x 128
// bring an SM all that it can take in, and data on the move cost power, of which this card has too
// little. Here both warpgroups multiply 64 x 256 of one tile with the same B. The store is not
// hidden, but the loads of the next tile run under it, and it is short: it goes through shared
// memory, so that whole lines of C leave at once. All else stays: a block walks a list of tiles,
// pairs share B, the next grid begins under the tail of this one.
//
// Bytes: 85 flops a byte that an SM takes in, a third more than below; from L2, a pair takes 128.
//
// The other tiles in the list at the end are this kernel for shapes that 128 x 256 would leave with
// half-empty waves, and 128 x 256 without a pair; `dispatch` picks among them.
#include "kernels/device/tile_list.cuh"
#include "kernels/device/wgmma_tile.cuh"
#include "kernels/fault.hpp"
#include "kernels/sm90a/launch.cuh"

namespace gemm::sm90a::wgmma_persistent {

using namespace gemm::device;
using namespace gemm::device::wgmma;

constexpr int consumers = 2, threads = (1 + consumers) * 128;

template <class Storage, bool a_k_contiguous, bool b_k_contiguous, int tile_m, int tile_n,
          int cluster>
static __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1)
    gemm_wgmma_persistent(const Product<Storage> p, const __grid_constant__ CUtensorMap map_a,
                          const __grid_constant__ CUtensorMap map_b, unsigned batches) {
  using Both = PipelineStage<Storage, a_k_contiguous, b_k_contiguous, tile_m, tile_n>;
  using Registers = ConsumerRegisters<tile_m / consumers, tile_n>;
  constexpr int stages = BlockMemory<Both>::stages;
  extern __shared__ char memory[];
  __shared__ alignas(8) std::uint64_t full_barriers[stages], empty_barriers[stages];
  const unsigned gap = -shared_address(memory) % atom_bytes;  // the stages start on an atom
  const unsigned panels_at = shared_address(memory) + gap;
  const auto full = [&](int stage) { return shared_address(&full_barriers[stage]); };
  const auto empty = [&](int stage) { return shared_address(&empty_barriers[stage]); };

  if (threadIdx.x == 0) {
    prefetch_tensormap(&map_a);
    prefetch_tensormap(&map_b);
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(full(stage), 1);
      mbarrier_init(empty(stage), cluster * consumers * 4);  // one arrival a warp
    }
    fence_mbarrier_init();
  }
  griddepcontrol_launch_dependents();
  cluster_sync();
  griddepcontrol_wait();

  const unsigned rank = cluster_rank();
  TileList<tile_m, tile_n, cluster> tiles(p, batches);
  if constexpr (gemm::fault("wgmma_persistent_last_stack_left_out")) --tiles.count;
  const int panels = static_cast<int>((p.k + per_line<Storage> - 1) / per_line<Storage>);
  RingPlace<stages> place(0);  // of the next panel: both sides count alike, over all tiles

  if (threadIdx.x / 128 == 0) {
    setmaxnreg_dec<Registers::producer>();
    const std::uint64_t keep = l2_evict_last();
    if (threadIdx.x == 0) {
      for (unsigned i = blockIdx.x / cluster; i < tiles.count; i += gridDim.x / cluster) {
        const TileOrigin tile = tiles.origin(i, rank);
        for (int panel = 0; panel < panels; ++panel, place.advance()) {
          mbarrier_wait_parity(empty(place.stage), place.parity ^ 1);
          Both::template copy_of_band<cluster>(panels_at + place.stage * Both::bytes, &map_a,
                                               &map_b, tile, panel, full(place.stage), rank, keep);
        }
      }
      // The block stays while consumers of the other one may still tell it something.
      for (int i = 0; i < stages; ++i, place.advance())
        mbarrier_wait_parity(empty(place.stage), place.parity ^ 1);
    }
  } else {
    setmaxnreg_inc<Registers::consumer>();
    const int warp = threadIdx.x / 32 - 4, lane = threadIdx.x % 32;
    // By a shuffle, so that the compiler knows it to be one for the warp: descriptors then are,
    // too.
    const int row = __shfl_sync(0xffffffff, warp / 4, 0) * (tile_m / consumers);
    char* const staging = memory + gap + stages * Both::bytes + warp * staging_bytes;
    // Each block of the cluster is told, since each fills a part of this stage.
    const unsigned full_here = kept(full(0));
    const unsigned empty_there = in_cluster(empty(0), lane % cluster);
    const auto release = [&](unsigned stage) {
      if (lane < cluster) mbarrier_arrive_cluster(empty_there + stage * 8);
    };
    const typename Both::Descriptors stage0(panels_at, row);
    unsigned before = 0;  // the stage of the panel before
    for (unsigned i = blockIdx.x / cluster; i < tiles.count; i += gridDim.x / cluster) {
      float sum[tile_m / consumers / group_m][tile_n / 2] = {};
#pragma unroll 1  // a copy of the loop would make ptxas wait after each wgmma
      for (int panel = 0; panel < panels; ++panel) {
        mbarrier_wait_parity(full_here + place.stage * 8, place.parity);
        Both::multiply(sum, stage0 + place.stage);
        const unsigned multiplied = place.stage;
        place.advance();
        wgmma_wait_group<1>();
        if (panel > 0) release(before);
        before = multiplied;
      }
      wgmma_wait_group<0>();
      if (panels > 0) release(before);
      store_tile(p, tiles.origin(i, rank), row, sum, staging);
    }
  }
}

template <int tile_m, int tile_n, int cluster>
static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::sm90a::launch_for_layout(
      problem, operands, tile_m, tile_n, cluster,
      [&](auto a_k_contiguous, auto b_k_contiguous, const auto& product,
          const gemm::sm90a::Maps& maps, cudaStream_t stream, unsigned stacks) {
        using Storage = gemm::cuda::StorageOf<decltype(product)>;
        constexpr bool a_k = a_k_contiguous(), b_k = b_k_contiguous();
        using Both = PipelineStage<Storage, a_k, b_k, tile_m, tile_n>;
        gemm::sm90a::launch_to_stay(
            gemm_wgmma_persistent<Storage, a_k, b_k, tile_m, tile_n, cluster>, stacks, cluster,
            threads, BlockMemory<Both>::bytes, stream, product, maps, problem.batch);
      });
}

template <int tile_m, int tile_n, int cluster>
static gemm::Kernel kernel(std::string_view name, bool configuration) {
  return {.name = name,
          .stage = gemm::Stage::wgmma_persistent,
          .idea = "both consumers of a block on one wide tile, so that less is brought in",
          .arch = gemm::Arch::sm90a,
          .refuses = gemm::sm90a::refuses,
          .launch = launch<tile_m, tile_n, cluster>,
          .tile = {tile_m, tile_n, cluster},
          .configuration = configuration};
}

const gemm::Register registered{kernel<128, 256, 2>("wgmma_persistent", false)};
const gemm::Register configurations[] = {
    gemm::Register{kernel<128, 256, 1>("wgmma_persistent_128x256x1", true)},
    gemm::Register{kernel<128, 176, 2>("wgmma_persistent_128x176x2", true)},
    gemm::Register{kernel<128, 128, 2>("wgmma_persistent_128x128x2", true)},
    gemm::Register{kernel<128, 128, 1>("wgmma_persistent_128x128x1", true)}};

}  // namespace gemm::sm90a::wgmma_persistent
