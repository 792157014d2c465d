// Rung: mma_pipelined. mma.sync with its operands kept on their way through a pipeline.
//
// Idea: the tensor core of the rung below waits for its operands. Here three things go on at once.
// cp.async copies panels past the registers into three stages of shared memory, so that two panels
// are on their way while one is multiplied. ldmatrix brings the operands of one step of k into
// registers, four 8 x 8 matrices an instruction, while the step before is multiplied, across the
// border of two panels too. And mma multiplies: 32 of them a step, for 4 + 4 ldmatrix, over which a
// third of a panel's copies is spread.
//
// Every operand stays in shared memory as it was stored, since ldmatrix transposes where a layout
// needs it. Lines of a panel are 128 bytes or a multiple, and the 16-byte chunk c of line l lies at
// c ^ (l % 8): the 8 rows that ldmatrix reads at once then lie in 8 different groups of banks.
//
// Bytes: a 128 x 256 tile takes 85 flops a byte of device memory in 16 bits. Shared memory is the
// next bound: a warp's 64 x 64 piece takes 32 flops a byte from there. The rate at which mma.sync
// can be issued on Hopper ends below the tensor core's peak, which is what wgmma is for.
#include "kernels/device/panel.cuh"
#include "kernels/device/ptx_sm80.cuh"
#include "kernels/device/tile_list.cuh"
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"

namespace gemm::sm80::mma_pipelined {

using namespace gemm::device;

// tile_n = 128 gives two blocks an SM of 4 warps each.
constexpr int tile_m = 128, tile_n = 256, stages = 3;
constexpr int warp_side = 64, warps_n = tile_n / warp_side;
constexpr int threads = tile_m / warp_side * warps_n * 32;
constexpr int fragments = warp_side / 16;  // of a warp's piece of A or B, one ldmatrix each
constexpr int chunk_bytes = 16, segment_bytes = 128, step_bytes = 32;  // of k, in one mma
constexpr int k_bytes = 128, steps = k_bytes / step_bytes;             // of k, in a panel
constexpr int parts = steps - 1;  // in which a panel is copied: one after each step but the last

/// A panel of one operand in shared memory, as stored: lines along the contiguous direction.
template <class Storage, bool k_contiguous, int outer>
struct Panel {
  static constexpr int tile_k = k_bytes / sizeof(Storage);
  static constexpr int lines = k_contiguous ? outer : tile_k;
  static constexpr int line_bytes = (k_contiguous ? tile_k : outer) * sizeof(Storage);
  static constexpr int bytes = lines * line_bytes;

  static __device__ unsigned offset(int line, int chunk) {
    return line * line_bytes + (chunk ^ (line % 8)) * chunk_bytes;
  }
};

/// A thread's share in copying the panels of one operand, panel after panel along k. Eight threads
/// take a segment of 128 bytes of a line. From one of a thread's chunks to the next, and from panel
/// to panel, all addresses advance by constants: lines are a multiple of 8 apart, after which the
/// swizzle repeats.
template <class Storage, bool k_contiguous, int outer>
class Copy {
  using To = Panel<Storage, k_contiguous, outer>;
  static constexpr int width = chunk_bytes / sizeof(Storage);      // elements of a chunk
  static constexpr int segment = segment_bytes / sizeof(Storage);  // and of a segment
  static constexpr int segments = To::line_bytes / segment_bytes;  // of a line
  static constexpr int lines_apart = threads / 8;
  static_assert(lines_apart % 8 == 0 && To::lines % lines_apart == 0);

 public:
  static constexpr int chunks = segments * (To::lines / lines_apart);  // of a thread, in a panel

  /// `from` is the first element of the first panel. From there on there are `outer_left` rows of A
  /// or columns of B, and `k` of k.
  __device__ Copy(const Storage* from, long long line_stride, long long outer_left, long long k)
      : from_(from + line() * line_stride + chunk() * width),
        apart_(lines_apart * line_stride),
        outer_left_(static_cast<int>(min(outer_left, 1LL * outer))),
        aligned_(lines_aligned(from, line_stride)),
        whole_chunks_(aligned_ && (k_contiguous ? k : outer_left) % width == 0) {}

  /// Is a panel that is whole along k all there, in chunks of 16 aligned bytes?
  __device__ bool interior() const { return whole_chunks_ && outer_left_ == outer; }

  /// Starts copying chunks `first` to `last` of the next panel, of which `k_left` of k exist: all
  /// of them and nothing to check if `interior`. What does not exist becomes zero. Goes on to the
  /// panel after with the last chunk.
  template <bool interior>
  __device__ void start(char* memory, int panel, int k_left, int first, int last) {
    const int to = panel + To::offset(line(), chunk());
    // Lines and elements that exist from this thread's first ones on.
    const int lines = (k_contiguous ? outer_left_ : k_left) - line();
    const int length = (k_contiguous ? k_left : outer_left_) - chunk() * width;
    if (interior || whole_chunks_) {
#pragma unroll
      for (int i = first; i < last; ++i) {
        const bool exists = interior || (line_of(i) < lines && element_of(i) < length);
        cp_async_16(shared_address(memory) + to + offset_of(i), chunk_from(i),
                    exists ? chunk_bytes : 0);
      }
    } else if (aligned_) {
#pragma unroll 1
      for (int i = first; i < last; ++i)
        cp_async_16(shared_address(memory) + to + offset_of(i), chunk_from(i),
                    existing(i, lines, length) * sizeof(Storage));
    } else {
#pragma unroll 2
      for (int i = first; i < last; ++i) {
        alignas(chunk_bytes) Storage element[width];  // all on their way before one is waited for
#pragma unroll
        for (int e = 0; e < width; ++e)
          element[e] = e < existing(i, lines, length) ? chunk_from(i)[e] : round_to<Storage>(0.0f);
        *reinterpret_cast<uint4*>(memory + to + offset_of(i)) =
            reinterpret_cast<const uint4&>(element);
      }
    }
    if (last == chunks) from_ += k_contiguous ? To::tile_k : To::lines / lines_apart * apart_;
  }

 private:
  static __device__ int line() { return threadIdx.x / 8; }
  static __device__ int chunk() { return threadIdx.x % 8; }
  // Where chunk i lies, seen from this thread's first chunk.
  static __device__ int line_of(int i) { return i / segments * lines_apart; }
  static __device__ int element_of(int i) { return i % segments * segment; }
  static __device__ int offset_of(int i) {
    return line_of(i) * To::line_bytes + i % segments * segment_bytes;
  }
  /// How many elements of chunk i exist, of as many lines and elements as do from the first on.
  static __device__ int existing(int i, int lines, int length) {
    return line_of(i) < lines ? max(0, min(length - element_of(i), width)) : 0;
  }
  __device__ const Storage* chunk_from(int i) const {
    return from_ + i / segments * apart_ + element_of(i);
  }

  const Storage* from_;  // this thread's first chunk of the next panel
  long long apart_;      // elements between two of its lines
  int outer_left_;
  bool aligned_, whole_chunks_;
};

/// What a lane gives to ldmatrix, for a warp whose piece of a panel starts at o0. A fragment is 16
/// wide along outer and 32 bytes thick along k: four matrices, in the order (o, k), (o + 8, k),
/// (o, k + 16 bytes), (o + 8, k + 16 bytes) if outer_first, else with the two middle ones
/// exchanged.
template <class Storage, bool k_contiguous, int outer>
class Fragments {
  using From = Panel<Storage, k_contiguous, outer>;

 public:
  __device__ Fragments(int o0, bool outer_first) {
    const int lane = threadIdx.x % 32, matrix = lane / 8, row = lane % 8;
    const int o_piece = outer_first ? matrix % 2 : matrix / 2;
    const int k_piece = outer_first ? matrix / 2 : matrix % 2;
    offset_ = k_contiguous ? From::offset(o0 + o_piece * 8 + row, k_piece)
                           : From::offset(k_piece * 8 + row, o0 / 8 + o_piece);
  }

  /// Fragment i of step `step`. Two chunks further within 8 is an exclusive or.
  __device__ void load(unsigned (&to)[4], unsigned panel, int i, int step) const {
    if constexpr (k_contiguous)
      ldmatrix_x4(to, ((panel + offset_) ^ step * step_bytes) + i * 16 * From::line_bytes);
    else
      ldmatrix_x4_trans(to,
                        ((panel + offset_) ^ i * 2 * chunk_bytes) + step * 16 * From::line_bytes);
  }

 private:
  unsigned offset_;
};

constexpr int staged_pitch = warp_side + 8, staged_floats = warp_side * staged_pitch;

/// Stores the piece of C that a warp has computed, through `staged_floats` of shared memory, so
/// that it writes whole rows. A thread holds two neighbours of row lane / 4 and two of the row 8
/// below, of each 16 x 8. Eight floats between rows spread what is staged at once over all banks.
template <class Storage>
static __device__ void store_piece(const Product<Storage>& p, const TileOrigin& piece,
                                   const float (&sum)[fragments][fragments * 2][4], float* staged) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < fragments; ++i)
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int j = 0; j < fragments * 2; ++j) {
        const int row = i * 16 + half * 8 + lane / 4, column = j * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(&staged[row * staged_pitch + column]) =
            make_float2(sum[i][j][half * 2], sum[i][j][half * 2 + 1]);
      }
  __syncwarp();
  constexpr int fours = warp_side / 4;  // of a row
#pragma unroll 4
  for (int i = lane; i < warp_side * fours; i += 32) {
    const int row = i / fours, column = i % fours * 4;
    float four[4];
    reinterpret_cast<float4&>(four) =
        *reinterpret_cast<const float4*>(&staged[row * staged_pitch + column]);
    store_four(p, piece.batch, piece.row + row, piece.column + column, four);
  }
}

template <class Storage, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(threads) gemm_mma_pipelined(Product<Storage> p) {
  using PanelA = Panel<Storage, a_k_contiguous, tile_m>;
  using PanelB = Panel<Storage, b_k_contiguous, tile_n>;
  using CopyA = Copy<Storage, a_k_contiguous, tile_m>;
  using CopyB = Copy<Storage, b_k_contiguous, tile_n>;
  constexpr int tile_k = PanelA::tile_k, stage_bytes = PanelA::bytes + PanelB::bytes;
  extern __shared__ __align__(128) char memory[];

  const auto [batch, row0, column0] = TileList<tile_m, tile_n, 1>(p, 1).origin(blockIdx.x, 0);
  CopyA copy_a(p.a.at(batch, row0, 0), a_k_contiguous ? p.a.row_stride : p.a.column_stride,
               p.m - row0, p.k);
  CopyB copy_b(p.b.at(batch, 0, column0), b_k_contiguous ? p.b.column_stride : p.b.row_stride,
               p.n - column0, p.k);
  const int whole_panels = static_cast<int>(p.k / tile_k), tail = static_cast<int>(p.k % tile_k);
  const int panels = whole_panels + (tail > 0);

  // Starts one part of the copies of a panel, all parts and panels in order.
  int copy_at = 0, multiply_at = 0;  // the stages of the panels that are copied and multiplied
  const auto next_stage = [](int& at) {
    at = at == (stages - 1) * stage_bytes ? 0 : at + stage_bytes;
  };
  const auto copy_part = [&](int panel, int part, auto interior) {
    constexpr bool unchecked = decltype(interior)::value;
    if (unchecked || panel < panels) {
      const int k_left = unchecked || panel < whole_panels ? tile_k : tail;
      const int b_at = copy_at + PanelA::bytes;
      constexpr int half = CopyB::chunks / 2;
      static_assert(parts == 3);
      if (part == 0) copy_a.template start<unchecked>(memory, copy_at, k_left, 0, CopyA::chunks);
      if (part == 1) copy_b.template start<unchecked>(memory, b_at, k_left, 0, half);
      if (part == 2) copy_b.template start<unchecked>(memory, b_at, k_left, half, CopyB::chunks);
    }
    if (part == parts - 1) {
      cp_async_commit_group();  // an empty group keeps the count of groups that of panels
      next_stage(copy_at);
    }
  };
  const auto wait_for_next_panel = [] {
    if constexpr (!gemm::fault("mma_pipelined_missing_wait")) cp_async_wait_group<stages - 2>();
    __syncthreads();  // everybody's copies of it are there, and nobody loads from this one any more
  };

  const int warp = threadIdx.x / 32;
  const int warp_row = warp / warps_n * warp_side, warp_column = warp % warps_n * warp_side;
  bool a_outer_first = true;
  if constexpr (gemm::fault("mma_pipelined_swapped_ldmatrix_lanes")) a_outer_first = false;
  const Fragments<Storage, a_k_contiguous, tile_m> fragments_a(warp_row, a_outer_first);
  const Fragments<Storage, b_k_contiguous, tile_n> fragments_b(warp_column, false);
  unsigned a[2][fragments][4], b[2][fragments][4];  // of one step and of the next
  const auto load = [&](int step, int i) {
    const unsigned panel = shared_address(memory) + multiply_at;
    fragments_a.load(a[step % 2][i], panel, i, step);
    fragments_b.load(b[step % 2][i], panel + PanelA::bytes, i, step);
  };

  float sum[fragments][fragments * 2][4] = {};
  const auto multiply_panel = [&](int panel, auto interior) {
    static_assert(steps % 2 == 0);  // so that the first step of a panel takes turns with the last
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      if (step == steps - 1) {  // all of this panel has been loaded
        wait_for_next_panel();
        next_stage(multiply_at);
      }
#pragma unroll
      for (int i = 0; i < fragments; ++i) {
        load((step + 1) % steps, i);
#pragma unroll
        for (int j = 0; j < fragments * 2; ++j)
          mma_16x8<Storage>(sum[i][j], a[step % 2][i], b[step % 2][j / 2][j % 2 * 2],
                            b[step % 2][j / 2][j % 2 * 2 + 1]);
      }
      if (step < parts) copy_part(panel + stages - 1, step, interior);
    }
  };

#pragma unroll 1
  for (int panel = 0; panel < stages - 1; ++panel)
    for (int part = 0; part < parts; ++part) copy_part(panel, part, std::false_type{});
  wait_for_next_panel();
  for (int i = 0; i < fragments; ++i) load(0, i);

  int panel = 0;
  if (copy_a.interior() && copy_b.interior())
#pragma unroll 1
    for (; panel + stages - 1 < whole_panels; ++panel) multiply_panel(panel, std::true_type{});
#pragma unroll 1
  for (; panel < panels; ++panel) multiply_panel(panel, std::false_type{});

  __syncthreads();  // the last step has loaded from the stage after the last panel, for nobody
  static_assert(threads / 32 * staged_floats * sizeof(float) <= stages * stage_bytes);
  store_piece(p, {batch, row0 + warp_row, column0 + warp_column}, sum,
              reinterpret_cast<float*>(memory) + warp * staged_floats);
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
                                 .launch = launch,
                                 .tile = {tile_m, tile_n, 1}}};

}  // namespace gemm::sm80::mma_pipelined
