// What the wgmma rungs share: a 128 x 256 tile of C, its panels in shared memory, and how it is
// stored.
#pragma once

#include "matrix.cuh"
#include "ptx_sm90.cuh"

namespace gemm::device::wgmma {

constexpr int tile_m = 128, tile_n = 256;
constexpr int group_m = 64;  // rows of the tile that one warpgroup multiplies
constexpr int line_bytes = 128, atom_bytes = 1024;
constexpr int step_bytes = 32,
              steps = line_bytes / step_bytes;  // of k, in one wgmma and in a panel
constexpr int a_bytes = tile_m * line_bytes, b_bytes = tile_n * line_bytes;
constexpr int stage_bytes = a_bytes + b_bytes;

/// Elements of a line of a panel; also how thick a panel is along k.
template <class Storage>
constexpr int per_line = line_bytes / sizeof(Storage);
/// 128 bytes of m or n, with a line for every k of the panel.
template <class Storage>
constexpr int slab_bytes = per_line<Storage>* line_bytes;

/// One operand's panel in shared memory, as the copy engine places it. k_contiguous: lines of 128
/// bytes of k, one for each of `outer`. Otherwise slabs, side by side along `outer`.
template <class Storage, bool k_contiguous, int outer>
struct Panel {
  static __device__ void copy(unsigned to, const CUtensorMap* map, int outer0, int k0, int batch,
                              unsigned barrier) {
    if constexpr (k_contiguous) {
      cp_async_bulk_tensor_3d(to, map, k0, outer0, batch, barrier);
    } else {
#pragma unroll
      for (int slab = 0; slab < outer / per_line<Storage>; ++slab)
        cp_async_bulk_tensor_3d(to + slab * slab_bytes<Storage>, map,
                                outer0 + slab * per_line<Storage>, k0, batch, barrier);
    }
  }

  /// The descriptor of the rows from o0 on, for step `step` of k.
  static __device__ std::uint64_t descriptor(unsigned panel, int o0, int step) {
    if constexpr (k_contiguous) {
      return wgmma_descriptor(panel + o0 * line_bytes + step * step_bytes, 0);
    } else {
      constexpr int step_lines = step_bytes / static_cast<int>(sizeof(Storage));
      return wgmma_descriptor(
          panel + o0 / per_line<Storage> * slab_bytes<Storage> + step * step_lines * line_bytes,
          slab_bytes<Storage>);
    }
  }
};

/// Both panels of one stage, for kernels of one storage type and layout.
template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
struct PipelineStage {
  using A = Panel<Storage, a_k_contiguous, tile_m>;
  using B = Panel<Storage, b_k_contiguous, tile_n>;

  /// Starts bringing panel `panel` of the tile; `full` completes when all of it is there.
  static __device__ void copy(unsigned at, const CUtensorMap* map_a, const CUtensorMap* map_b,
                              const TileOrigin& tile, int panel, unsigned full) {
    const int k0 = panel * per_line<Storage>, batch = static_cast<int>(tile.batch);
    mbarrier_arrive_expect_tx(full, stage_bytes);
    A::copy(at, map_a, static_cast<int>(tile.row), k0, batch, full);
    B::copy(at + a_bytes, map_b, static_cast<int>(tile.column), k0, batch, full);
  }

  /// Starts multiplying the stage into the 64 rows of warpgroup `group`, as one group of wgmma.
  static __device__ void multiply(float (&sum)[128], unsigned at, int group) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < steps; ++step)
      wgmma_64x256<Storage, !a_k_contiguous, !b_k_contiguous>(
          sum, A::descriptor(at, group * group_m, step), B::descriptor(at + a_bytes, 0, step));
    wgmma_commit_group();
  }
};

/// Stores the 64 x 256 outputs of a warpgroup, straight from registers. A thread holds two
/// neighbours of a row and two of the row 8 below, of each 16 x 8 piece of its warp.
template <class Storage>
__device__ void store_rows(const Product<Storage>& p, const TileOrigin& tile, int group,
                           const float (&sum)[128]) {
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const long long row = tile.row + group * group_m + warp * 16 + half * 8 + lane / 4;
    if (row >= p.m) continue;
#pragma unroll
    for (int j = 0; j < tile_n / 8; ++j) {
      const long long column = tile.column + j * 8 + lane % 4 * 2;
      store_linear_pair(p.c.at(tile.batch, row, column), sum[j * 4 + half * 2],
                        sum[j * 4 + half * 2 + 1], p.n - column, p.alpha, p.beta);
    }
  }
}

}  // namespace gemm::device::wgmma
