// Rung: wgmma_persistent. One block per SM walks a list of tiles.
//
// Idea: in the rung below every tile is a block of its own, which starts with an empty pipeline and
// ends with a store under which nothing is loaded. Here a block stays on its SM and takes tile
// after tile. The producer runs ahead: while the consumers store one tile, the panels of the next
// are on their way. The list is walked in bands of 8 tile rows, so that blocks that run at the same
// time read the same rows of A and columns of B from L2.
//
// Bytes: as below from L2; from device memory each band reads B once.
#include <algorithm>

#include "kernels/device/wgmma_tile.cuh"
#include "kernels/sm90a/launch.cuh"

namespace gemm::sm90a::wgmma_persistent {

using namespace gemm::device;
using namespace gemm::device::wgmma;

constexpr int stages = 4, consumers = 2, threads = (1 + consumers) * 128;
constexpr int producer_registers = 40, consumer_registers = 232;
constexpr int memory_bytes = stages * stage_bytes + atom_bytes;  // the stages start on an atom
constexpr long long band = 8;  // tile rows that are walked together

/// The tiles of all products of the batch, in the order in which they are walked.
template <class Storage>
struct TileList {
  long long down, across, count;

  explicit __device__ TileList(const Product<Storage>& p, long long batches)
      : down((p.m + tile_m - 1) / tile_m),
        across((p.n + tile_n - 1) / tile_n),
        count(down * across * batches) {}

  __device__ TileOrigin operator[](long long i) const {
    const long long batch = i / (down * across), in_batch = i % (down * across);
    const long long first_row = in_batch / (band * across) * band;
    const long long rows = min(band, down - first_row);
    const long long in_band = in_batch % (band * across);
    return {batch, (first_row + in_band % rows) * tile_m, in_band / rows * tile_n};
  }
};

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads, 1)
    gemm_wgmma_persistent(const Product<Storage> p, const __grid_constant__ CUtensorMap map_a,
                          const __grid_constant__ CUtensorMap map_b, long long batches) {
  using Both = PipelineStage<Storage, a_k_contiguous, b_k_contiguous>;
  extern __shared__ char memory[];
  __shared__ alignas(8) std::uint64_t full_barriers[stages], empty_barriers[stages];
  const unsigned panels_at = (shared_address(memory) + atom_bytes - 1) / atom_bytes * atom_bytes;
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

  const TileList<Storage> tiles(p, batches);
  const int panels = static_cast<int>((p.k + per_line<Storage> - 1) / per_line<Storage>);
  unsigned turn = 0;  // panels so far, over all tiles: both sides count alike

  if (threadIdx.x / 128 == 0) {
    setmaxnreg_dec<producer_registers>();
    if (threadIdx.x == 0)
      for (long long i = blockIdx.x; i < tiles.count; i += gridDim.x) {
        const TileOrigin tile = tiles[i];
        for (int panel = 0; panel < panels; ++panel, ++turn) {
          const unsigned stage = turn % stages;
          mbarrier_wait_parity(empty(stage), turn / stages % 2 ^ 1);
          Both::copy(panels_at + stage * stage_bytes, &map_a, &map_b, tile, panel, full(stage));
        }
      }
  } else {
    setmaxnreg_inc<consumer_registers>();
    const int group = threadIdx.x / 128 - 1;
    const auto release = [&](unsigned done) {
      if (threadIdx.x % 32 == 0) mbarrier_arrive(empty(done % stages));
    };
    for (long long i = blockIdx.x; i < tiles.count; i += gridDim.x) {
      float sum[128] = {};
      for (int panel = 0; panel < panels; ++panel, ++turn) {
        const unsigned stage = turn % stages;
        mbarrier_wait_parity(full(stage), turn / stages % 2);
        Both::multiply(sum, panels_at + stage * stage_bytes, group);
        wgmma_wait_group<1>();
        if (panel > 0) release(turn - 1);
      }
      wgmma_wait_group<0>();
      if (panels > 0) release(turn - 1);
      store_rows(p, tiles[i], group, sum);
    }
  }
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::sm90a::launch_for_layout(
      problem, operands, tile_m, tile_n,
      [&](auto a_k_contiguous, auto b_k_contiguous, const auto& product,
          const gemm::sm90a::Maps& maps, cudaStream_t stream, unsigned tiles) {
        using Storage = gemm::cuda::StorageOf<decltype(product)>;
        gemm::sm90a::launch(gemm_wgmma_persistent<Storage, a_k_contiguous(), b_k_contiguous()>,
                            std::min(tiles, gemm::cuda::multiprocessors()), threads, memory_bytes,
                            stream, product, maps, static_cast<long long>(problem.batch));
      });
}

const gemm::Register registered{
    {.name = "wgmma_persistent",
     .stage = gemm::Stage::wgmma_persistent,
     .idea = "one block per SM walks a list of tiles, loading ahead of the store",
     .arch = gemm::Arch::sm90a,
     .refuses = gemm::sm90a::refuses,
     .launch = launch}};

}  // namespace gemm::sm90a::wgmma_persistent
