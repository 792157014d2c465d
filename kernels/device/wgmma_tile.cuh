// What the wgmma rungs share: a tile of C, its panels in shared memory, and how it is stored.
#pragma once

#include "matrix.cuh"
#include "panel.cuh"
#include "ptx_sm90.cuh"

namespace gemm::device::wgmma {

constexpr int group_m = 64;  // rows that one warpgroup multiplies
constexpr int line_bytes = 128, atom_bytes = 1024;
constexpr int step_bytes = 32,
              steps = line_bytes / step_bytes;  // of k, in one wgmma and in a panel

/// Elements of a line of a panel; also how thick a panel is along k.
template <class Storage>
constexpr int per_line = line_bytes / sizeof(Storage);
/// 128 bytes of m or n, with a line for every k of the panel.
template <class Storage>
constexpr int slab_bytes = per_line<Storage>* line_bytes;

/// One operand's panel in shared memory, as the copy engine places it. k_contiguous: lines of 128
/// bytes of k, one for each of `outer`. Otherwise slabs, side by side along `outer`, the last of
/// which may be wider than is used.
template <class Storage, bool k_contiguous, int outer>
struct Panel {
  static constexpr int slabs = (outer + per_line<Storage> - 1) / per_line<Storage>;
  static constexpr int bytes = k_contiguous ? outer * line_bytes : slabs * slab_bytes<Storage>;

  /// policy: none, or one for L2.
  template <class... Policy>
  static __device__ void copy(unsigned to, const CUtensorMap* map, int outer0, int k0, int batch,
                              unsigned barrier, Policy... policy) {
    if constexpr (k_contiguous) {
      cp_async_bulk_tensor_3d(to, map, k0, outer0, batch, barrier, policy...);
    } else {
#pragma unroll
      for (int slab = 0; slab < slabs; ++slab)
        cp_async_bulk_tensor_3d(to + slab * slab_bytes<Storage>, map,
                                outer0 + slab * per_line<Storage>, k0, batch, barrier, policy...);
    }
  }

  /// Block `rank` of a cluster brings its share of a panel that all blocks of the cluster use, to
  /// each of them.
  template <int blocks>
  static __device__ void copy_to_cluster(unsigned to, const CUtensorMap* map, int outer0, int k0,
                                         int batch, unsigned barrier, int rank) {
    constexpr std::uint16_t all = (1 << blocks) - 1;
    if constexpr (k_contiguous) {
      static_assert(outer * line_bytes / blocks % atom_bytes == 0, "shares start on an atom");
      const int first = outer / blocks * rank;
      cp_async_bulk_tensor_3d_multicast(to + first * line_bytes, map, k0, outer0 + first, batch,
                                        barrier, all);
    } else {
#pragma unroll
      for (int i = 0; i < (slabs + blocks - 1) / blocks; ++i)
        if (const int slab = i * blocks + rank; slab < slabs)
          cp_async_bulk_tensor_3d_multicast(to + slab * slab_bytes<Storage>, map,
                                            outer0 + slab * per_line<Storage>, k0, batch, barrier,
                                            all);
    }
  }

  /// The descriptor of the rows from o0 on, for the first step of k. For another step, add
  /// step * next_step.
  static __device__ std::uint64_t descriptor(unsigned panel, int o0) {
    if constexpr (k_contiguous)
      return wgmma_descriptor(panel + o0 * line_bytes, 0);
    else
      return wgmma_descriptor(panel + o0 / per_line<Storage> * slab_bytes<Storage>,
                              slab_bytes<Storage>);
  }
  static constexpr int step_lines = step_bytes / sizeof(Storage);
  static constexpr int next_step =
      (k_contiguous ? step_bytes : step_lines * line_bytes) / wgmma_descriptor_unit;
};

/// Shared memory that a block of Hopper may ask for, less 1 KiB for its barriers.
constexpr int block_bytes = 226 * 1024;

/// Both panels of one stage, for kernels of one storage type, layout and tile.
template <class Storage, bool a_k_contiguous, bool b_k_contiguous, int tile_m, int tile_n>
struct PipelineStage {
  using A = Panel<Storage, a_k_contiguous, tile_m>;
  using B = Panel<Storage, b_k_contiguous, tile_n>;
  static constexpr int bytes = A::bytes + B::bytes;
  /// To the descriptor of the next 64 rows of A: as many lines, or a slab, which is as large.
  static constexpr int next_group = group_m * line_bytes / wgmma_descriptor_unit;

  /// Starts bringing panel `panel` of the tile; `full` completes when all of it is there.
  static __device__ void copy(unsigned at, const CUtensorMap* map_a, const CUtensorMap* map_b,
                              const TileOrigin& tile, int panel, unsigned full) {
    const int k0 = panel * per_line<Storage>, batch = static_cast<int>(tile.batch);
    mbarrier_arrive_expect_tx(full, bytes);
    A::copy(at, map_a, static_cast<int>(tile.row), k0, batch, full);
    B::copy(at + A::bytes, map_b, static_cast<int>(tile.column), k0, batch, full);
  }

  /// The same, for blocks that walk a TileList: L2 is to keep the band of A. The blocks of a
  /// cluster lie above one another, with one B among them: each brings a share of it.
  template <int cluster>
  static __device__ void copy_of_band(unsigned at, const CUtensorMap* map_a,
                                      const CUtensorMap* map_b, const TileOrigin& tile, int panel,
                                      unsigned full, int rank, std::uint64_t keep) {
    const int k0 = panel * per_line<Storage>, batch = static_cast<int>(tile.batch);
    mbarrier_arrive_expect_tx(full, bytes);
    A::copy(at, map_a, static_cast<int>(tile.row), k0, batch, full, keep);
    if constexpr (cluster == 1)
      B::copy(at + A::bytes, map_b, static_cast<int>(tile.column), k0, batch, full);
    else
      B::template copy_to_cluster<cluster>(at + A::bytes, map_b, static_cast<int>(tile.column), k0,
                                           batch, full, rank);
  }

  /// The descriptors of a stage for the rows of the tile from `row` on.
  struct Descriptors {
    std::uint64_t a, b;

    __device__ Descriptors(unsigned at, int row)
        : a(A::descriptor(at, row)), b(B::descriptor(at + A::bytes, 0)) {}
    __device__ Descriptors(std::uint64_t a, std::uint64_t b) : a(a), b(b) {}
    /// Of the stage that lies `stages` behind.
    __device__ Descriptors operator+(unsigned stages) const {
      const unsigned distance = stages * (bytes / wgmma_descriptor_unit);
      return {a + distance, b + distance};
    }
  };

  /// Starts multiplying a stage into `groups` times 64 rows of the tile, as one group of wgmma.
  template <int groups>
  static __device__ void multiply(float (&sum)[groups][tile_n / 2], const Descriptors& stage) {
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < steps; ++step)
#pragma unroll
      for (int g = 0; g < groups; ++g)
        wgmma_64xn<Storage, tile_n, !a_k_contiguous, !b_k_contiguous>(
            sum[g], stage.a + step * A::next_step + g * next_group, stage.b + step * B::next_step);
    wgmma_commit_group();
  }
};

/// Where panel number `count` of all that pass through a ring of stages lies: in which stage, and
/// in a phase of which parity. Advanced rather than computed anew: few wgmma wait in the tensor
/// core's queue, so that a division between those of two panels is time in which it has nothing to
/// do.
template <int stages>
struct RingPlace {
  unsigned stage, parity;

  __device__ explicit RingPlace(unsigned count)
      : stage(count % stages), parity(count / stages % 2) {}
  __device__ void advance() {
    const bool around = ++stage == stages;
    stage = around ? 0 : stage;
    parity ^= around;
  }
};

/// How many registers a thread has, of a producer warpgroup and of two consumer warpgroups that
/// each sum up rows x tile_n.
template <int rows, int tile_n>
struct ConsumerRegisters {
  static constexpr bool many = rows * tile_n / 128 > 128;
  static constexpr int producer = many ? 40 : 56, consumer = many ? 232 : 224;
};

/// Shared memory through which a warp puts its outputs in order: 16 rows of 128 bytes.
constexpr int staging_bytes = 16 * line_bytes;

/// What a block of two consumer warpgroups that stays on its SM asks for: as many stages as there
/// is room for, and staging.
template <class Stage>
struct BlockMemory {
  static constexpr int all_staging_bytes = 2 * 4 * staging_bytes;
  static constexpr int stages = (block_bytes - atom_bytes - all_staging_bytes) / Stage::bytes;
  static constexpr int bytes = stages * Stage::bytes + all_staging_bytes + atom_bytes;
};

/// Chunk c of 16 bytes of row r lies at c ^ (2 r + r / 4), modulo 8: whatever a warp accesses at
/// once below then lies in all banks.
__device__ inline int staged(int row, int chunk) {
  return row * line_bytes + (chunk ^ (row % 4 * 2 + row / 4 % 2)) * 16;
}

/// Puts `pieces` neighbouring 16 x 8 pieces of a warp's outputs, times alpha, into its staging, as
/// many columns as 128 bytes hold. Of each piece a thread has two neighbours of a row and two of
/// the row 8 below.
template <class Element>
__device__ void stage_slice(const float* sum, int pieces, float alpha, char* staging) {
  const int lane = threadIdx.x % 32;
  constexpr int most = line_bytes / sizeof(Element) / 8;
  if constexpr (sizeof(Element) == 2) {
    const unsigned to = shared_address(staging);
#pragma unroll
    for (int j = 0; j < most; j += 2) {
      if (j >= pieces) break;
      const float* two = sum + j * 4;
      const unsigned four[] = {pack<Element>(alpha * two[0], alpha * two[1]),
                               pack<Element>(alpha * two[2], alpha * two[3]),
                               pack<Element>(alpha * two[4], alpha * two[5]),
                               pack<Element>(alpha * two[6], alpha * two[7])};
      stmatrix_x4(to + staged(lane % 16, j + lane / 16), four);
    }
  } else {
#pragma unroll
    for (int j = 0; j < most; ++j) {
      if (j >= pieces) break;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float* two = sum + j * 4 + half * 2;
        char* to = staging + staged(half * 8 + lane / 4, j * 2 + lane % 4 / 2) + lane % 2 * 8;
        *reinterpret_cast<float2*>(to) = make_float2(alpha * two[0], alpha * two[1]);
      }
    }
  }
}

/// Stores 64 rows of the tile, from `row` on. Stored straight from registers, each line of C would
/// leave in pieces of 16 bytes. So each warp puts slices of 128 bytes a row into its `staging` and
/// takes whole lines out of it.
template <class Storage, int sums>
__device__ void store_rows(const Product<Storage>& p, const TileOrigin& tile, int row,
                           const float (&sum)[sums], char* staging) {
  constexpr int pieces = sums / 4;  // of 16 x 8 outputs
  const int warp = threadIdx.x % 128 / 32, lane = threadIdx.x % 32;
  const long long row0 = tile.row + row + warp * 16;

  constexpr int chunk = 16 / sizeof(Storage), slice = line_bytes / sizeof(Storage) / 8;
  if (p.beta == 0.0f && p.n % chunk == 0 &&
      lines_aligned(p.c.at(tile.batch, 0, 0), p.c.row_stride)) {
    // Nothing is read first and chunks are whole: what is staged is what is stored.
#pragma unroll
    for (int first = 0; first < pieces; first += slice) {
      __syncwarp();  // what lay here has been taken
      stage_slice<Storage>(sum + first * 4, pieces - first, p.alpha, staging);
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = i * 4 + lane / 8, in_tile = first * 8 + lane % 8 * chunk;
        if (row0 + row < p.m && tile.column + in_tile < p.n && in_tile < pieces * 8)
          *reinterpret_cast<uint4*>(p.c.at(tile.batch, row0 + row, tile.column + in_tile)) =
              *reinterpret_cast<const uint4*>(staging + staged(row, lane % 8));
      }
    }
    return;
  }

  // Everything else goes through FP32, as beta C is added before the only rounding.
#pragma unroll
  for (int first = 0; first < pieces; first += 4) {
    __syncwarp();
    stage_slice<float>(sum + first * 4, pieces - first, 1.0f, staging);
    __syncwarp();
#pragma unroll 1  // the code of one round is as long as that of the slice before it
    for (int i = 0; i < 4; ++i) {
      const int row = i * 4 + lane / 8, in_tile = first * 8 + lane % 8 * 4;
      float four[4];
      reinterpret_cast<float4&>(four) =
          *reinterpret_cast<const float4*>(staging + staged(row, lane % 8));
      if (in_tile < pieces * 8) store_four(p, tile.batch, row0 + row, tile.column + in_tile, four);
    }
  }
}

/// Stores what multiply<groups> summed, from `row` of the tile on.
template <class Storage, int groups, int sums>
__device__ void store_tile(const Product<Storage>& p, const TileOrigin& tile, int row,
                           const float (&sum)[groups][sums], char* staging) {
#pragma unroll
  for (int g = 0; g < groups; ++g) store_rows(p, tile, row + g * group_m, sum[g], staging);
}

}  // namespace gemm::device::wgmma
