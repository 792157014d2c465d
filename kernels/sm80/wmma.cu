// Rung: wmma. The first on the tensor core, through CUDA's portable API.
//
// Idea: a warp multiplies 16 x 16 x 16 fragments in one operation, where a thread had multiplied
// single numbers. Everything else is the plain scheme of the tiled rung: the block copies a panel
// of A and of B into shared memory as they are stored (a fragment is loaded from either direction,
// so nothing is transposed), waits, multiplies, waits.
//
// Bytes: a 128 x 128 tile takes 64 flops a byte of device memory in 16 bits. The tensor core could
// multiply a panel many times faster than the block brings it: the bound is the latency of the
// copy, which nothing hides, and the plain loads that fill the fragments.
#include <mma.h>

#include "kernels/launch.cuh"

namespace gemm::sm80::wmma {

using namespace gemm::device;
namespace wmma = nvcuda::wmma;

constexpr int tile_m = 128, tile_n = 128, k_bytes = 64;
constexpr int warps_m = 2, warps_n = 4, threads = warps_m * warps_n * 32;
constexpr int side = 16;  // of a fragment of C
constexpr int warp_m = tile_m / warps_m / side, warp_n = tile_n / warps_n / side;  // in fragments

/// What the tensor core calls the storage type, and how much of k it takes at once.
template <class Storage>
struct Fragment {
  using Element = Storage;
  static constexpr int k = 16;
};
template <>
struct Fragment<float> {
  using Element = wmma::precision::tf32;
  static constexpr int k = 8;
};

/// A panel of one operand, as stored: lines along the contiguous direction. The 16 bytes after each
/// line spread the lines over the banks.
template <class Storage, bool k_contiguous, int outer>
struct Panel {
  static constexpr int tile_k = k_bytes / sizeof(Storage), width = 16 / sizeof(Storage);
  static constexpr int lines = k_contiguous ? outer : tile_k;
  static constexpr int length = k_contiguous ? tile_k : outer;
  static constexpr int pitch = length + width;
  alignas(32) Storage element[lines * pitch];

  __device__ void copy(const Storage* from, long long line_stride, long long lines_left,
                       long long length_left, bool aligned) {
#pragma unroll
    for (int i = 0; i < lines * length / width / threads; ++i) {
      const int index = threadIdx.x + i * threads;
      const int line = index / (length / width), at = index % (length / width) * width;
      const Storage* address = from + line * line_stride + at;
      Storage* to = &element[line * pitch + at];
      const long long valid = line < lines_left ? length_left - at : 0;
      if (aligned && valid >= width)
        *reinterpret_cast<uint4*>(to) = __ldg(reinterpret_cast<const uint4*>(address));
      else
        for (int e = 0; e < width; ++e) to[e] = e < valid ? address[e] : round_to<Storage>(0.0f);
    }
  }

  /// The first element of the fragment at (o, k).
  __device__ const Storage* at(int o, int k) const {
    return &element[k_contiguous ? o * pitch + k : k * pitch + o];
  }
};

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads) gemm_wmma(Product<Storage> p) {
  using Element = typename Fragment<Storage>::Element;
  constexpr int fragment_k = Fragment<Storage>::k;
  using ALayout = std::conditional_t<a_k_contiguous, wmma::row_major, wmma::col_major>;
  using BLayout = std::conditional_t<b_k_contiguous, wmma::col_major, wmma::row_major>;
  using PanelA = Panel<Storage, a_k_contiguous, tile_m>;
  using PanelB = Panel<Storage, b_k_contiguous, tile_n>;
  constexpr int tile_k = PanelA::tile_k;
  __shared__ PanelA panel_a;
  __shared__ PanelB panel_b;
  __shared__ alignas(32) float staging[warps_m * warps_n][side][side];

  const auto [batch, row0, column0] = tile_origin<tile_m, tile_n>(p);
  const long long a_line = a_k_contiguous ? p.a.row_stride : p.a.column_stride;
  const long long b_line = b_k_contiguous ? p.b.column_stride : p.b.row_stride;
  const bool a_aligned = lines_aligned(p.a.at(batch, 0, 0), a_line);
  const bool b_aligned = lines_aligned(p.b.at(batch, 0, 0), b_line);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / warps_n * warp_m * side, warp_column = warp % warps_n * warp_n * side;

  wmma::fragment<wmma::accumulator, side, side, fragment_k, float> sum[warp_m][warp_n];
  for (auto& row : sum)
    for (auto& fragment : row) wmma::fill_fragment(fragment, 0.0f);

  for (long long k0 = 0; k0 < p.k; k0 += tile_k) {
    const long long rows = p.m - row0, columns = p.n - column0, ks = p.k - k0;
    panel_a.copy(p.a.at(batch, row0, k0), a_line, a_k_contiguous ? rows : ks,
                 a_k_contiguous ? ks : rows, a_aligned);
    panel_b.copy(p.b.at(batch, k0, column0), b_line, b_k_contiguous ? columns : ks,
                 b_k_contiguous ? ks : columns, b_aligned);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile_k; k += fragment_k) {
      wmma::fragment<wmma::matrix_a, side, side, fragment_k, Element, ALayout> a[warp_m];
      wmma::fragment<wmma::matrix_b, side, side, fragment_k, Element, BLayout> b[warp_n];
#pragma unroll
      for (int i = 0; i < warp_m; ++i)
        wmma::load_matrix_sync(a[i], panel_a.at(warp_row + i * side, k), PanelA::pitch);
#pragma unroll
      for (int j = 0; j < warp_n; ++j)
        wmma::load_matrix_sync(b[j], panel_b.at(warp_column + j * side, k), PanelB::pitch);
#pragma unroll
      for (int i = 0; i < warp_m; ++i)
#pragma unroll
        for (int j = 0; j < warp_n; ++j) wmma::mma_sync(sum[i][j], a[i], b[j], sum[i][j]);
    }
    __syncthreads();
  }

  // Which thread holds which element of a fragment is the API's secret: C goes through shared
  // memory.
#pragma unroll
  for (int i = 0; i < warp_m; ++i)
#pragma unroll
    for (int j = 0; j < warp_n; ++j) {
      wmma::store_matrix_sync(&staging[warp][0][0], sum[i][j], side, wmma::mem_row_major);
      __syncwarp();
      for (int e = lane; e < side * side; e += 32) {
        const long long row = row0 + warp_row + i * side + e / side;
        const long long column = column0 + warp_column + j * side + e % side;
        if (row < p.m && column < p.n)
          store_linear(p.c.at(batch, row, column), staging[warp][e / side][e % side], p.alpha,
                       p.beta);
      }
      __syncwarp();
    }
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_layout(
      problem, operands, tile_m, tile_n,
      [](auto a_k_contiguous, auto b_k_contiguous, const auto& product, cudaStream_t stream,
         unsigned grid) {
        gemm_wmma<gemm::cuda::StorageOf<decltype(product)>, a_k_contiguous(), b_k_contiguous()>
            <<<grid, threads, 0, stream>>>(product);
      });
}

const gemm::Register registered{
    {.name = "wmma",
     .stage = gemm::Stage::wmma,
     .idea = "a warp multiplies 16 x 16 x 16 fragments on the tensor core",
     .arch = gemm::Arch::sm80,
     .refuses = gemm::cuda::refuses_fp32,
     .launch = launch,
     .tile = {tile_m, tile_n, 1}}};

}  // namespace gemm::sm80::wmma
