// Rung: mma_pipelined. mma.sync with its operands kept on their way through a pipeline.
//
// Idea: the tensor core of the rung below waits for its operands. Here cp.async copies panels past
// the registers into three stages of shared memory, so that two panels are always on their way
// while one is multiplied. ldmatrix brings four 8 x 8 matrices an instruction, and transposes them
// where a layout needs it, so that every operand stays in shared memory as it was stored. Lines of
// a panel are 128 bytes or a multiple, and the 16-byte chunk c of line l lies at c ^ (l % 8): the 8
// rows that ldmatrix reads at once then lie in 8 different groups of banks.
//
// Bytes: a 128 x 256 tile takes 85 flops a byte of device memory in 16 bits; a step of k is 4 + 4
// ldmatrix for the 32 mma of a warp's 64 x 64 piece. The rate at which mma.sync can be issued on
// Hopper ends below the tensor core's peak, which is what wgmma is for.
#include "kernels/device/ptx_sm80.cuh"
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::sm80::mma_pipelined {

using namespace gemm::device;

constexpr int tile_m = 128, tile_n = 256, stages = 3;
constexpr int warps_m = 2, warps_n = 4, threads = warps_m * warps_n * 32;
constexpr int warp_m = tile_m / warps_m, warp_n = tile_n / warps_n;
constexpr int chunk_bytes = 16, k_bytes = 128;  // bytes of k in a panel
constexpr int step_bytes = 32;                  // bytes of k in one mma

/// A panel of one operand in shared memory, as stored: lines along the contiguous direction.
template <class Storage, bool k_contiguous, int outer>
struct Panel {
  static constexpr int tile_k = k_bytes / sizeof(Storage);
  static constexpr int lines = k_contiguous ? outer : tile_k;
  static constexpr int line_elements = k_contiguous ? tile_k : outer;
  static constexpr int line_bytes = line_elements * sizeof(Storage);
  static constexpr int chunks = line_bytes / chunk_bytes, width = chunk_bytes / sizeof(Storage);
  static constexpr int bytes = lines * line_bytes;

  static __device__ unsigned offset(int line, int chunk) {
    return line * line_bytes + (chunk ^ (line % 8)) * chunk_bytes;
  }

  /// Starts copying the panel at (outer0, k0) of an operand with these strides. Beyond the edges it
  /// is zero. Lines that are not aligned to 16 bytes are copied element by element.
  static __device__ void copy(unsigned to, char* to_generic, const Storage* from,
                              long long line_stride, long long lines_left, long long length_left,
                              bool aligned) {
#pragma unroll
    for (int i = 0; i < lines * chunks / threads; ++i) {
      const int index = threadIdx.x + i * threads, line = index / chunks, chunk = index % chunks;
      const long long left = line < lines_left ? length_left - chunk * width : 0;
      const int valid = static_cast<int>(max(0LL, min(left, static_cast<long long>(width))));
      const Storage* address = from + line * line_stride + chunk * width;
      if (aligned) {
        // A chunk of which nothing is read still wants an address that exists.
        cp_async_16(to + offset(line, chunk), valid > 0 ? address : from, valid * sizeof(Storage));
      } else {
        Storage* element = reinterpret_cast<Storage*>(to_generic + offset(line, chunk));
        for (int e = 0; e < width; ++e)
          element[e] = e < valid ? address[e] : round_to<Storage>(0.0f);
      }
    }
  }

  /// Two 8-wide pieces of `outer` from o0, and two 16-byte pieces of k from k_byte: the four
  /// matrices in the order (o, k), (o + 8, k), (o, k + 16 bytes), (o + 8, k + 16 bytes) if
  /// outer_first, else with the two middle ones exchanged.
  template <bool outer_first>
  static __device__ void load(unsigned (&to)[4], unsigned panel, int o0, int k_byte) {
    const int lane = threadIdx.x % 32, matrix = lane / 8, row = lane % 8;
    const int o_piece = outer_first ? matrix % 2 : matrix / 2;
    const int k_piece = outer_first ? matrix / 2 : matrix % 2;
    if constexpr (k_contiguous) {
      ldmatrix_x4(to, panel + offset(o0 + o_piece * 8 + row, k_byte / chunk_bytes + k_piece));
    } else {
      const int k = k_byte / static_cast<int>(sizeof(Storage)) + k_piece * 8 + row;
      ldmatrix_x4_trans(to, panel + offset(k, o0 / 8 + o_piece));
    }
  }
};

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads, 1) gemm_mma_pipelined(Product<Storage> p) {
  using PanelA = Panel<Storage, a_k_contiguous, tile_m>;
  using PanelB = Panel<Storage, b_k_contiguous, tile_n>;
  constexpr int tile_k = PanelA::tile_k, stage_bytes = PanelA::bytes + PanelB::bytes;
  extern __shared__ __align__(128) char memory[];
  const unsigned base = shared_address(memory);

  const auto [batch, row0, column0] = tile_origin<tile_m, tile_n>(p);
  const long long a_line = a_k_contiguous ? p.a.row_stride : p.a.column_stride;
  const long long b_line = b_k_contiguous ? p.b.column_stride : p.b.row_stride;
  const bool a_aligned = lines_aligned(p.a.at(batch, 0, 0), a_line);
  const bool b_aligned = lines_aligned(p.b.at(batch, 0, 0), b_line);

  const auto copy = [&](long long panel) {
    const long long k0 = panel * tile_k;
    if (k0 < p.k) {
      const int at = static_cast<int>(panel % stages) * stage_bytes;
      const long long rows = p.m - row0, columns = p.n - column0, ks = p.k - k0;
      PanelA::copy(base + at, memory + at, p.a.at(batch, row0, k0), a_line,
                   a_k_contiguous ? rows : ks, a_k_contiguous ? ks : rows, a_aligned);
      PanelB::copy(base + at + PanelA::bytes, memory + at + PanelA::bytes,
                   p.b.at(batch, k0, column0), b_line, b_k_contiguous ? columns : ks,
                   b_k_contiguous ? ks : columns, b_aligned);
    }
    cp_async_commit_group();  // an empty group keeps the count of groups that of panels
  };

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int warp_row = warp / warps_n * warp_m, warp_column = warp % warps_n * warp_n;
  float sum[warp_m / 16][warp_n / 8][4] = {};

  for (int panel = 0; panel < stages - 1; ++panel) copy(panel);
  const long long panels = (p.k + tile_k - 1) / tile_k;
  for (long long panel = 0; panel < panels; ++panel) {
    if constexpr (!gemm::fault("mma_pipelined_missing_wait")) cp_async_wait_group<stages - 2>();
    __syncthreads();  // everybody's copies of this panel are there; nobody reads the oldest any
                      // more
    copy(panel + stages - 1);

    const unsigned a_at = base + static_cast<int>(panel % stages) * stage_bytes;
    const unsigned b_at = a_at + PanelA::bytes;
#pragma unroll
    for (int k_byte = 0; k_byte < k_bytes; k_byte += step_bytes) {
      unsigned a[warp_m / 16][4], b[warp_n / 16][4];
#pragma unroll
      for (int i = 0; i < warp_m / 16; ++i)
        PanelA::template load<true>(a[i], a_at, warp_row + i * 16, k_byte);
      if constexpr (gemm::fault("mma_pipelined_swapped_ldmatrix_lanes"))
        PanelA::template load<false>(a[0], a_at, warp_row, k_byte);
#pragma unroll
      for (int j = 0; j < warp_n / 16; ++j)
        PanelB::template load<false>(b[j], b_at, warp_column + j * 16, k_byte);
#pragma unroll
      for (int i = 0; i < warp_m / 16; ++i)
#pragma unroll
        for (int j = 0; j < warp_n / 8; ++j)
          mma_16x8<Storage>(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }

  // A thread holds two neighbours of row lane / 4 and two of the row 8 below, of each 16 x 8 piece.
#pragma unroll
  for (int i = 0; i < warp_m / 16; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const long long row = row0 + warp_row + i * 16 + half * 8 + lane / 4;
      if (row >= p.m) continue;
#pragma unroll
      for (int j = 0; j < warp_n / 8; ++j) {
        const long long column = column0 + warp_column + j * 8 + lane % 4 * 2;
        store_linear_pair(p.c.at(batch, row, column), sum[i][j][half * 2], sum[i][j][half * 2 + 1],
                          p.n - column, p.alpha, p.beta);
      }
    }
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_layout(
      problem, operands, tile_m, tile_n,
      [](auto a_k_contiguous, auto b_k_contiguous, const auto& product, cudaStream_t stream,
         unsigned grid) {
        using Storage = gemm::cuda::StorageOf<decltype(product)>;
        constexpr bool a_k = a_k_contiguous(), b_k = b_k_contiguous();
        if constexpr (sizeof(Storage) == 2 || (a_k && b_k)) {
          constexpr int bytes =
              stages * (Panel<Storage, a_k, tile_m>::bytes + Panel<Storage, b_k, tile_n>::bytes);
          const auto kernel = gemm_mma_pipelined<Storage, a_k, b_k>;
          if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes) !=
              cudaSuccess)
            throw std::runtime_error("mma_pipelined wants " + std::to_string(bytes) +
                                     " bytes of shared memory a block");
          kernel<<<grid, threads, bytes, stream>>>(product);
        }
      });
}

const gemm::Register registered{{.name = "mma_pipelined",
                                 .stage = gemm::Stage::mma_pipelined,
                                 .idea = "mma.sync fed by ldmatrix from three stages of cp.async",
                                 .arch = gemm::Arch::sm80,
                                 .refuses = gemm::cuda::refuses_fp32_and_tf32_across_k,
                                 .launch = launch}};

}  // namespace gemm::sm80::mma_pipelined
