// Rung: pretransposed. Operands are brought into the kernel's own order before it starts.
//
// Idea: the rungs below carry every panel through registers, because an operand that is contiguous
// along k must be transposed on its way, and a 16-bit one widened; and it does so again for every
// tile that needs the panel. Here a pass of its own does it once: it writes such an operand to the
// workspace as [k][outer] in FP32, lines aligned and tiles filled up with zeros. The kernel that
// follows has one case left: nothing is masked, and cp.async copies panels as they lie, 16 bytes at
// a time, past the registers and two slices ahead.
//
// Bytes: the pass reads the operand once and writes it once, 8 bytes an element in FP32: 128 MiB
// for the A of 4096^3 nn, 31 us of about 3400 at 4.3 TB/s. It costs 37 / n of a multiplication at
// 40 TFLOP/s: 1% at n = 4096, and as much as a third at n = 128. It pays if more than that is
// saved, so for operands of which each element is used some thousand times. In tn FP32 whole tiles
// need no pass. A tile is that of double_buffered, 128 x 128 and 32 flops a byte; no thread stores
// to shared memory. So FP32 is a little ahead of warp_tiled even without a warp's tile, which the
// next rung has as well.
//
// The workspace is 64 MiB. A larger operand goes through it by slices of its lines, each packed and
// multiplied before the next.
#include <algorithm>
#include <cstdint>

#include "kernels/device/panel.cuh"
#include "kernels/device/ptx_sm80.cuh"
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"
#include "kernels/lesson.hpp"

namespace gemm::simt::pretransposed {

using namespace gemm::device;

constexpr int tile_m = 128, tile_n = 128, stages = 3;
constexpr int tile_k = gemm::lesson("thin_k_slice") ? 8 : 16;
constexpr int threads = 256;  // 16 x 16, each with 8 x 8 outputs
constexpr int side = 32;      // of the squares that the pass transposes

/// A slice of an operand as the kernel likes it: for each k a line of neighbours along outer, all
/// aligned to 16 bytes; whole tiles, and whole slices of k.
struct Packed {
  const float* data;
  long long line_stride;
};

/// Writes an operand of outer x k as to[padded_k][padded_outer], of which what is beyond outer or k
/// is zero.
template <class Storage, bool k_contiguous>
static __global__ void __launch_bounds__(side * 8)
    gemm_pretransposed_pack(float* to, const Storage* from, long long line_stride, long long outer,
                            long long k, long long padded_outer, long long padded_k) {
  __shared__ float square[side][side + 1];
  const long long across = padded_outer / side;
  const long long o0 = blockIdx.x % across * side, k0 = blockIdx.x / across * side;
  const int x = threadIdx.x % side, first_y = threadIdx.x / side;
  if constexpr (gemm::fault("pretransposed_square_skipped")) {
    if (blockIdx.x == 1) return;
  }
  // Neighbouring threads take neighbouring elements of `from`, then of `to`.
#pragma unroll
  for (int y = first_y; y < side; y += 8) {
    const int o = k_contiguous ? y : x, kk = k_contiguous ? x : y;
    const long long at =
        k_contiguous ? (o0 + o) * line_stride + k0 + kk : (k0 + kk) * line_stride + o0 + o;
    square[o][kk] = o0 + o < outer && k0 + kk < k ? widen(from[at]) : 0.0f;
  }
  __syncthreads();
#pragma unroll
  for (int y = first_y; y < side; y += 8)
    if (k0 + y < padded_k) to[(k0 + y) * padded_outer + o0 + x] = square[x][y];
}

/// A thread's copies of one operand's panels.
class PackedCopy {
 public:
  __device__ PackedCopy(const Packed& from, long long outer0) : line_stride_(from.line_stride) {
    next_ = from.data + Map::k_of(threadIdx.x) * line_stride_ + outer0 + Map::outer_of(threadIdx.x);
  }

  __device__ void start(float (*panel)[tile_m]) {
#pragma unroll
    for (int v = 0; v < Map::vectors; ++v)
      cp_async_16(shared_address(
                      &panel[Map::k_of(threadIdx.x) + Map::k_step(v)][Map::outer_of(threadIdx.x)]),
                  next_ + Map::k_step(v) * line_stride_, 16);
    next_ += tile_k * line_stride_;
  }

 private:
  static_assert(tile_m == tile_n, "A and B are copied by the same arithmetic");
  using Map = PanelMap<false, tile_m, tile_k, threads, 4>;
  const float* next_;
  long long line_stride_;
};

template <class Storage>
static __global__ void __launch_bounds__(threads, 2)
    gemm_pretransposed(Product<Storage> p, Packed a_from, Packed b_from) {
  __shared__ alignas(16) float panel_a[stages][tile_k][tile_m];
  __shared__ alignas(16) float panel_b[stages][tile_k][tile_n];

  const auto [batch, row0, column0] = tile_origin<tile_m, tile_n>(p);
  PackedCopy a_copy(a_from, row0), b_copy(b_from, column0);
  const int row = threadIdx.x / 16 * 4, column = threadIdx.x % 16 * 4;

  int written = 0, read = 0;
  const auto copy = [&](long long k0) {
    if (k0 < p.k) {
      a_copy.start(panel_a[written]);
      b_copy.start(panel_b[written]);
    }
    cp_async_commit_group();  // an empty group keeps the count of groups that of panels
    written = written + 1 == stages ? 0 : written + 1;
  };

  float sum[2][4][2][4] = {};
  for (int stage = 0; stage < stages - 1; ++stage) copy(stage * tile_k);
  for (long long k0 = 0; k0 < p.k; k0 += tile_k) {
    cp_async_wait_group<stages - 2>();
    __syncthreads();  // everybody's copies of these panels are there, and the oldest are free
    copy(k0 + (stages - 1) * tile_k);
#pragma unroll
    for (int k = 0; k < tile_k; ++k) {
      float a[2][4], b[2][4];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        read_four(a[half], panel_a[read], k, half * 64 + row);
        read_four(b[half], panel_b[read], k, half * 64 + column);
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sum[i / 4][i % 4][j / 4][j % 4] =
              fmaf(a[i / 4][i % 4], b[j / 4][j % 4], sum[i / 4][i % 4][j / 4][j % 4]);
    }
    read = read + 1 == stages ? 0 : read + 1;
  }

#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store_four(p, batch, row0 + i / 4 * 64 + row + i % 4, column0 + half * 64 + column,
                 sum[i / 4][i % 4][half]);
}

constexpr long long workspace_floats = gemm::workspace_bytes / sizeof(float);
constexpr long long most_k = workspace_floats / (tile_m + tile_n);

static long long round_up(long long x, long long unit) { return (x + unit - 1) / unit * unit; }

/// One operand of one matrix of the batch, where it lies.
template <class Storage>
struct Source {
  const Storage* data;
  long long outer, k, line_stride;
  bool k_contiguous;

  bool needs_packing() const {
    if (k == 0) return false;  // nothing is read
    const bool whole = outer % tile_m == 0 && k % tile_k == 0;
    const bool aligned = line_stride % 4 == 0 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    return sizeof(Storage) != sizeof(float) || k_contiguous || !whole || !aligned;
  }

  /// Lines that are multiplied at once: all, or what fits in so many floats.
  long long lines_at_once(long long floats) const {
    return needs_packing() ? std::min(outer, floats / round_up(k, tile_k) / tile_m * tile_m)
                           : outer;
  }

  /// The slice of `lines` from `first` on, packed into `room` if it needs that.
  Packed slice(long long first, long long lines, float* room, cudaStream_t stream) const {
    const long long offset = k_contiguous ? first * line_stride : first;
    if (!needs_packing()) return {reinterpret_cast<const float*>(data + offset), line_stride};
    const long long padded_outer = round_up(lines, tile_m), padded_k = round_up(k, tile_k);
    const auto blocks = static_cast<unsigned>(padded_outer / side * round_up(k, side) / side);
    const auto pack = k_contiguous ? gemm_pretransposed_pack<Storage, true>
                                   : gemm_pretransposed_pack<Storage, false>;
    pack<<<blocks, side * 8, 0, stream>>>(room, data + offset, line_stride, lines, k, padded_outer,
                                          padded_k);
    return {room, padded_outer};
  }
};

/// One matrix of the batch, by slices of A and of B that fit the workspace.
template <class Storage>
static void multiply(const Product<Storage>& whole, const Source<Storage>& a,
                     const Source<Storage>& b, float* workspace, cudaStream_t stream) {
  const bool both = a.needs_packing() && b.needs_packing();
  const long long room = both ? workspace_floats / 2 : workspace_floats;
  const long long rows = a.lines_at_once(room), columns = b.lines_at_once(room);
  Product<Storage> p = whole;
  for (long long column = 0; column < whole.n; column += columns) {
    p.n = std::min(columns, whole.n - column);
    const Packed b_slice = b.slice(column, p.n, both ? workspace + room : workspace, stream);
    for (long long row = 0; row < whole.m; row += rows) {
      p.m = std::min(rows, whole.m - row);
      const Packed a_slice = a.slice(row, p.m, workspace, stream);
      p.c.data = whole.c.data + row * whole.c.row_stride + column;
      const long long tiles = round_up(p.m, tile_m) / tile_m * (round_up(p.n, tile_n) / tile_n);
      gemm_pretransposed<<<static_cast<unsigned>(tiles), threads, 0, stream>>>(p, a_slice, b_slice);
    }
  }
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  gemm::cuda::launch_for_layout(problem, operands, tile_m, tile_n,
                                [&](auto a_k_contiguous, auto b_k_contiguous, const auto& product,
                                    cudaStream_t stream, unsigned) {
                                  using Storage = gemm::cuda::StorageOf<decltype(product)>;
                                  for (long long i = 0; i < problem.batch; ++i) {
                                    Product<Storage> p = product;
                                    p.c.data += i * p.c.batch_stride;
                                    const Source<Storage> a{p.a.data + i * p.a.batch_stride, p.m,
                                                            p.k, problem.lda(), a_k_contiguous()};
                                    const Source<Storage> b{p.b.data + i * p.b.batch_stride, p.n,
                                                            p.k, problem.ldb(), b_k_contiguous()};
                                    multiply(p, a, b, static_cast<float*>(operands.workspace),
                                             stream);
                                  }
                                });
}

static gemm::Refusal refuses(const gemm::Problem& problem) {
  if (problem.shape.k > most_k)
    return "no slice fits the workspace: k is more than " + std::to_string(most_k);
  return gemm::cuda::refuses_tf32(problem);
}

const gemm::Register registered{
    {.name = "pretransposed",
     .stage = gemm::Stage::pretransposed,
     .idea = "a pass of its own transposes once, and cp.async copies what it wrote",
     .arch = gemm::Arch::any,
     .refuses = refuses,
     .launch = launch}};

}  // namespace gemm::simt::pretransposed
