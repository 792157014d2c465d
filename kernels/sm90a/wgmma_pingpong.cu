// Rung: wgmma_pingpong. A block stays on its SM, and two consumer warpgroups take turns at the
// tensor core.
//
// Idea: in the rung below every tile is a block of its own, which starts with an empty pipeline and
// ends with a store, during which the tensor core waits. Here a block stays on its SM and walks a
// list of tiles. Each consumer warpgroup has a tile of its own, since one alone can keep the tensor
// core busy: while one multiplies, the other stores its last tile and clears its sums. Barriers in
// shared memory pass the turn on when only the last panel of a tile is still being multiplied, so
// that the tensor core goes from one to the other. The producer runs ahead, from tile to tile.
//
// Two blocks of a cluster take tiles one above the other, which need the same B. Each brings half
// of it, to both: the copy engine writes a panel into two SMs for one read of L2. So a stage is
// empty only when consumers of both blocks are done with it.
//
// A grid may begin while the last one of its stream still ends (programmatic dependent launch): the
// barriers are ready and the tensor maps at hand by then, and only reading waits.
//
// Bytes: an SM takes in 32 KB for a panel of a 128 x 128 tile, 64 flops a byte in 16 bits, of which
// pairs read three quarters from L2; each band of 2048 rows reads B once from device memory at
// best, and L2 is asked to keep the band of A. The bound: an SM takes in 64 bytes a cycle at most,
// of which this tile wants 64 when the tensor core never waits.
//
// The other tiles in the list at the end are this kernel for other shapes; `dispatch` picks among
// them.
#include "kernels/device/tile_list.cuh"
#include "kernels/device/wgmma_tile.cuh"
#include "kernels/fault.hpp"
#include "kernels/sm90a/launch.cuh"

namespace gemm::sm90a::wgmma_pingpong {

using namespace gemm::device;
using namespace gemm::device::wgmma;

constexpr int consumers = 2, threads = (1 + consumers) * 128;

template <class Storage, bool a_k_contiguous, bool b_k_contiguous, int tile_m, int tile_n,
          int cluster>
static __global__ void __cluster_dims__(cluster, 1, 1) __launch_bounds__(threads, 1)
    gemm_wgmma_pingpong(const Product<Storage> p, const __grid_constant__ CUtensorMap map_a,
                        const __grid_constant__ CUtensorMap map_b, unsigned batches) {
  using Both = PipelineStage<Storage, a_k_contiguous, b_k_contiguous, tile_m, tile_n>;
  using Registers = ConsumerRegisters<tile_m, tile_n>;
  constexpr int stages = BlockMemory<Both>::stages;
  extern __shared__ char memory[];
  __shared__ alignas(8) std::uint64_t full_barriers[stages], empty_barriers[stages];
  __shared__ alignas(8) std::uint64_t turn_barriers[consumers];
  const unsigned gap = -shared_address(memory) % atom_bytes;  // the stages start on an atom
  const unsigned panels_at = shared_address(memory) + gap;
  const auto full = [&](int stage) { return shared_address(&full_barriers[stage]); };
  const auto empty = [&](int stage) { return shared_address(&empty_barriers[stage]); };
  const auto turn_of = [&](int group) { return shared_address(&turn_barriers[group]); };

  if (threadIdx.x == 0) {
    prefetch_tensormap(&map_a);
    prefetch_tensormap(&map_b);
    for (int stage = 0; stage < stages; ++stage) {
      mbarrier_init(full(stage), 1);
      mbarrier_init(empty(stage), cluster * 4);  // one arrival a warp of the group that had it
    }
    for (int group = 0; group < consumers; ++group) mbarrier_init(turn_of(group), 4);
    fence_mbarrier_init();
  }
  griddepcontrol_launch_dependents();
  cluster_sync();
  griddepcontrol_wait();

  const unsigned rank = cluster_rank();
  const TileList<tile_m, tile_n, cluster> tiles(p, batches);
  const unsigned panels = static_cast<unsigned>((p.k + per_line<Storage> - 1) / per_line<Storage>);
  const unsigned first = blockIdx.x / cluster, next = gridDim.x / cluster;

  if (threadIdx.x / 128 == 0) {
    setmaxnreg_dec<Registers::producer>();
    RingPlace<stages> place(0);  // of the next panel, over all tiles
    const std::uint64_t keep = l2_evict_last();
    if (threadIdx.x == 0) {
      for (unsigned i = first; i < tiles.count; i += next) {
        const TileOrigin tile = tiles.origin(i, rank);
        for (unsigned panel = 0; panel < panels; ++panel, place.advance()) {
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
    const unsigned group = __shfl_sync(0xffffffff, warp / 4, 0);
    char* const staging = memory + gap + stages * Both::bytes + warp * staging_bytes;
    // Each block of the cluster is told, since each fills a part of this stage.
    const unsigned full_here = kept(full(0));
    const unsigned empty_there = in_cluster(empty(0), lane % cluster);
    const auto release = [&](unsigned stage) {
      if (lane < cluster) mbarrier_arrive_cluster(empty_there + stage * 8);
    };
    const typename Both::Descriptors stage0(panels_at, 0);
    float sum[tile_m / group_m][tile_n / 2] = {};
    unsigned round = 0;
    for (unsigned i = first + group * next; i < tiles.count; i += consumers * next, ++round) {
      RingPlace<stages> place((round * consumers + group) * panels);
      unsigned before = 0;  // the stage of the panel before
      if constexpr (!gemm::fault("wgmma_pingpong_sums_not_cleared"))
        for (auto& rows : sum)
          for (float& s : rows) s = 0;
      // Group 0 begins: a fresh barrier counts as past the odd phase.
      mbarrier_wait_parity(turn_of(group), (round + group + 1) % 2);
#pragma unroll 1  // a copy of the loop would make ptxas wait after each wgmma
      for (unsigned panel = 0; panel < panels; ++panel) {
        mbarrier_wait_parity(full_here + place.stage * 8, place.parity);
        Both::multiply(sum, stage0 + place.stage);
        const unsigned multiplied = place.stage;
        place.advance();
        wgmma_wait_group<1>();
        if (panel > 0) release(before);
        before = multiplied;
      }

      __syncwarp();  // all lanes have seen their turn: the next one could pass it by
      if (lane == 0) mbarrier_arrive(turn_of(1 - group));
      wgmma_wait_group<0>();
      if (panels > 0) release(before);
      store_tile(p, tiles.origin(i, rank), 0, sum, staging);
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
        gemm::sm90a::launch_to_stay(gemm_wgmma_pingpong<Storage, a_k, b_k, tile_m, tile_n, cluster>,
                                    stacks, cluster, threads, BlockMemory<Both>::bytes, stream,
                                    product, maps, problem.batch);
      });
}

template <int tile_m, int tile_n, int cluster>
static gemm::Kernel kernel(std::string_view name, bool configuration) {
  return {.name = name,
          .stage = gemm::Stage::wgmma_pingpong,
          .idea = "one block per SM, pairs share B, two consumers in turn: one stores meanwhile",
          .arch = gemm::Arch::sm90a,
          .refuses = gemm::sm90a::refuses,
          .launch = launch<tile_m, tile_n, cluster>,
          .tile = {tile_m, tile_n, cluster},
          .configuration = configuration};
}

const gemm::Register registered{kernel<128, 128, 2>("wgmma_pingpong", false)};
const gemm::Register configurations[] = {
    gemm::Register{kernel<128, 192, 2>("wgmma_pingpong_128x192x2", true)},
    gemm::Register{kernel<128, 176, 2>("wgmma_pingpong_128x176x2", true)},
    gemm::Register{kernel<64, 128, 2>("wgmma_pingpong_64x128x2", true)},
    gemm::Register{kernel<64, 128, 1>("wgmma_pingpong_64x128x1", true)}};

}  // namespace gemm::sm90a::wgmma_pingpong
