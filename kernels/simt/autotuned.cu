// Rung: autotuned. Several tiles are compiled, and the problem chooses; nobody waits between
// slices.
//
// Idea: at the end of each slice warp_tiled waits for its loads, to store them; for the barrier;
// and for the first operands of the next slice; and a launch of few tiles leaves SMs idle. Here
// panels travel past the registers by cp.async: copies of 4 bytes transpose on their way, and
// need no alignment. The registers that this frees hold the operands of the next step of k, which
// are read while this one is multiplied, across the barrier too. Panels inside the operands are
// copied by a loop of their own, without a mask or a branch, so that the compiler spreads the
// copies among the multiply-adds; the edges, the last slice of k and unaligned lines have a second
// loop.
//
// The tile and the number of parts that k is cut into are chosen by predicted time: waves of tiles
// over SMs, times the cost of a tile. Parts of k meet in the workspace, and a second pass adds them
// in order. Some tiles and splits are kernels of their own too, which dispatch picks by measured
// time.
//
// Bytes: a 128 x 256 tile takes 43 flops a byte of device memory, and a step of k reads 6 times 16
// bytes for 128 multiply-adds of a thread. The lanes lie so that each of these reads takes 2 of the
// 4 passes that 512 bytes would: 96 of the 256 cycles that an SM multiplies for. A second pass
// moves 8 bytes an output and part. The bound is issue: 92% of the instructions of a slice are
// multiply-adds, and 78% of the issue slots were used while its code did not fit the instruction
// cache (ncu on an H200, slices of 16).
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/device/panel_async.cuh"
#include "kernels/fault.hpp"
#include "kernels/launch.cuh"
#include "kernels/lesson.hpp"
#include "kernels/simt/shared_memory.cuh"

namespace gemm::simt::autotuned {

using namespace gemm::device;

/// What is compiled for a tile of m x n, in slices of k. A warp owns warp_m x warp_n of it, over
/// which its lanes lie lanes_m x 32 / lanes_m, each with groups of 4 x 4 outputs. `blocks` is how
/// many an SM shall hold.
template <int m_, int n_, int k_, int warp_m_, int warp_n_, int lanes_m_, int stages_, int blocks_>
struct Configuration {
  static constexpr int m = m_, n = n_, k = k_;
  static constexpr int warp_m = warp_m_, warp_n = warp_n_, lanes_m = lanes_m_;
  static constexpr int stages = stages_, blocks = blocks_;
  static constexpr int warps = m * n / (warp_m * warp_n), threads = warps * 32;
};

template <class Tile>
struct Panels {
  float a[Tile::k][panel_pitch<Tile::m>], b[Tile::k][panel_pitch<Tile::n>];
};

template <class Tile, bool k_contiguous, bool inside>
using CopyA = PanelCopy<inside, k_contiguous, Tile::m, Tile::k, Tile::threads>;
template <class Tile, bool k_contiguous, bool inside>
using CopyB = PanelCopy<inside, k_contiguous, Tile::n, Tile::k, Tile::threads>;

/// Block i computes tile i of those of C, batch by batch, and of one part of k after the other.
/// With more parts than one, C is the workspace: a matrix for each part and batch. Tile is a
/// Configuration.
template <class Tile, bool a_k_contiguous, bool b_k_contiguous>
static __global__ void __launch_bounds__(Tile::threads, Tile::blocks)
    gemm_autotuned(Product<float> p, long long batches, long long part_k) {
  constexpr int lanes_n = 32 / Tile::lanes_m, part_m = Tile::lanes_m * 4, part_n = lanes_n * 4;
  constexpr int groups_m = Tile::warp_m / part_m, groups_n = Tile::warp_n / part_n;
  using Lanes = LaneMap<Tile::lanes_m, lanes_n>;
  constexpr int stage_bytes = sizeof(Panels<Tile>), end_of_stages = Tile::stages * stage_bytes;
  extern __shared__ __align__(16) char memory[];

  const auto [c_batch, row0, column0] = tile_origin<Tile::m, Tile::n>(p);
  const long long batch = c_batch % batches, first_k = c_batch / batches * part_k;
  p.a.data = p.a.at(0, 0, first_k);
  p.b.data = p.b.at(0, first_k, 0);
  p.k = min(p.k - first_k, part_k);
  const Operand<float> a_from = operand_a(p, batch, a_k_contiguous);
  const Operand<float> b_from = operand_b(p, batch, b_k_contiguous);
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = warp / (Tile::n / Tile::warp_n) * Tile::warp_m + Lanes::row(lane) * 4;
  const int column = warp % (Tile::n / Tile::warp_n) * Tile::warp_n + Lanes::column(lane) * 4;

  // Are the operands of a step read while the step before is multiplied? The compiler, left alone,
  // reads them when they are needed: it moves no read across a barrier.
  constexpr bool ahead = !gemm::lesson("compiler_scheduling");
  // Both are offsets of a stage in shared memory.
  int read = 0, written = 0;
  const auto start_copy = [&](auto& a_copy, auto& b_copy, long long k_left) {
    const auto& panels = *reinterpret_cast<Panels<Tile>*>(memory + written);
    a_copy.start(shared_address(panels.a), k_left);
    b_copy.start(shared_address(panels.b), k_left);
  };
  float a[2][groups_m][4], b[2][groups_n][4];
  const auto read_fragments = [&](int to, int k) {
    const auto& panels = *reinterpret_cast<const Panels<Tile>*>(memory + read);
#pragma unroll
    for (int g = 0; g < groups_m; ++g) read_four(a[to][g], panels.a, k, row + g * part_m);
#pragma unroll
    for (int g = 0; g < groups_n; ++g) read_four(b[to][g], panels.b, k, column + g * part_n);
  };
  const auto wait_for_panels = [&] {
    cp_async_wait_group<Tile::stages - 2>();
    __syncthreads();
  };

  float sum[groups_m][4][groups_n][4] = {};
  // Multiplies the panels of one stage, and copies to the stage that was multiplied before it.
  const auto step = [&](const auto& copy_next) {
#pragma unroll
    for (int k = 0; k < Tile::k; ++k) {
      if constexpr (!ahead) read_fragments(k % 2, k);
      if (k == Tile::k - 1) {
        wait_for_panels();
        written = read;
        read = read + stage_bytes == end_of_stages ? 0 : read + stage_bytes;
      }
      if constexpr (ahead) read_fragments((k + 1) % 2, (k + 1) % Tile::k);
      if (k == 0) {
        copy_next();
        cp_async_commit_group();  // an empty group keeps the count of groups that of panels
      }
      const auto multiply = [&](int i, int j) {
        sum[i / 4][i % 4][j / 4][j % 4] =
            fmaf(a[k % 2][i / 4][i % 4], b[k % 2][j / 4][j % 4], sum[i / 4][i % 4][j / 4][j % 4]);
      };
      // To and fro along the shorter side: then ptxas finds, for most multiply-adds, registers of
      // two banks and an operand that is still at hand (.reuse).
      constexpr int rows = groups_m * 4, columns = groups_n * 4;
      constexpr int inner = rows < columns ? rows : columns, outer = rows * columns / inner;
#pragma unroll
      for (int o = 0; o < outer; ++o)
#pragma unroll
        for (int i = 0; i < inner; ++i) {
          const int turned = o % 2 == 0 ? i : inner - 1 - i;
          if constexpr (rows <= columns)
            multiply(turned, o);
          else
            multiply(o, turned);
        }
    }
  };

  int steps = static_cast<int>((p.k + Tile::k - 1) / Tile::k);
  long long k0 = 0;  // of the next panels to copy
  const auto k_left = [&] { return gemm::fault("autotuned_k_tail_unmasked") ? Tile::k : p.k - k0; };
  {
    CopyA<Tile, a_k_contiguous, false> a_copy(a_from, row0, k0);
    CopyB<Tile, b_k_contiguous, false> b_copy(b_from, column0, k0);
    for (int stage = 0; stage < Tile::stages - 1; ++stage) {
      if (k0 < p.k) start_copy(a_copy, b_copy, k_left());
      cp_async_commit_group();
      written += stage_bytes;
      k0 += Tile::k;
    }
    wait_for_panels();
    if constexpr (ahead) read_fragments(0, 0);
  }
  if (is_inside<a_k_contiguous>(a_from, row0, Tile::m) &&
      is_inside<b_k_contiguous>(b_from, column0, Tile::n)) {
    CopyA<Tile, a_k_contiguous, true> a_copy(a_from, row0, k0);
    CopyB<Tile, b_k_contiguous, true> b_copy(b_from, column0, k0);
    const int whole = static_cast<int>(p.k / Tile::k) - (Tile::stages - 1);
    for (int i = 0; i < whole; ++i) step([&] { start_copy(a_copy, b_copy, Tile::k); });
    if (whole > 0) {
      steps -= whole;
      k0 += 1LL * whole * Tile::k;
    }
  }
  CopyA<Tile, a_k_contiguous, false> a_copy(a_from, row0, k0);
  CopyB<Tile, b_k_contiguous, false> b_copy(b_from, column0, k0);
  for (; steps > 0; --steps, k0 += Tile::k)
    step([&] {
      if (k0 < p.k) start_copy(a_copy, b_copy, k_left());
    });

#pragma unroll
  for (int i = 0; i < groups_m * 4; ++i)
#pragma unroll
    for (int g = 0; g < groups_n; ++g)
      store_four(p, c_batch, row0 + row + i / 4 * part_m + i % 4, column0 + column + g * part_n,
                 sum[i / 4][i % 4][g]);
}

/// C = alpha (the sum of all parts) + beta C. A thread adds four neighbours of a row, part by part.
static __global__ void __launch_bounds__(256)
    gemm_autotuned_sum(Product<float> p, Matrix<const float> parts, int count, long long batches) {
  const long long index = blockIdx.x * 256LL + threadIdx.x, fours = (p.n + 3) / 4;
  const long long batch = index / fours / p.m, row = index / fours % p.m,
                  column = index % fours * 4;
  if (batch >= batches) return;
  float sum[4] = {};
  for (int part = gemm::fault("autotuned_first_part_dropped") ? 1 : 0; part < count; ++part) {
    const float* from = parts.at(part * batches + batch, row, column);
    if (column + 4 <= p.n) {
      const float4 four = *reinterpret_cast<const float4*>(from);
      sum[0] += four.x;
      sum[1] += four.y;
      sum[2] += four.z;
      sum[3] += four.w;
    } else {  // nobody has written what fills the last four up
#pragma unroll
      for (int j = 0; j < 3; ++j)
        if (column + j < p.n) sum[j] += from[j];
    }
  }
  store_four(p, batch, row, column, sum);
}

// m, n, k; a warp's m, n and rows of lanes; stages; blocks an SM. A thread of the wide and square
// ones has 8 x 16 outputs, in slices of 8: the loop of a slice of 16 is 36 KB of code, which the
// instruction cache does not hold.
using Wide = Configuration<128, 256, 8, 64, 64, 8, 3, 1>;
using Square = Configuration<128, 128, 8, 64, 64, 8, 4, 2>;
using Half = Configuration<64, 128, 16, 32, 64, 4, 2, 3>;     // 8 x 8
using Quarter = Configuration<32, 128, 16, 32, 32, 8, 3, 4>;  // 4 x 8

// Among which the rung chooses.
using Configurations = std::tuple<Wide, Square, Half, Quarter>;

struct Choice {
  void (*launch)(const gemm::Problem&, const gemm::Operands&, int parts);
  int parts;    // of k
  double cost;  // predicted cycles
};

/// So many of k in each of `parts`, of which none is empty, or 0 if that cannot be. Parts start
/// where whole slices of any tile do.
static long long k_of_parts(const gemm::Problem& problem, int parts) {
  constexpr long long grain = 32;
  const long long part_k = ((problem.shape.k + parts - 1) / parts + grain - 1) / grain * grain;
  return parts == 1 ? problem.shape.k : part_k * (parts - 1) < problem.shape.k ? part_k : 0;
}

/// Floats from one row of a part of C in the workspace to the next.
static long long part_pitch(const gemm::Problem& problem) { return (problem.shape.n + 3) / 4 * 4; }

/// Cycles that the busiest SM is expected to take. A step of k costs a thread its multiply-adds,
/// the reads of its operands, and its copies (A by one element, B by four); latency is hidden by
/// the multiply-adds that all warps of an SM have at hand; and each block fills its panels and
/// stores its tile. The figures fit an H200: that for a copy the wide, square and half tile at
/// 4096^3 (1.03, 0.99 and 0.96 of cuBLAS), that for latency the two tiles of warp_tiled, that for a
/// warp that has its scheduler to itself 128 x 4096 x 4096, k in 4 parts.
template <class Tile>
static double predicted_cost(const gemm::Problem& problem, int parts) {
  constexpr double cycles_a_copy = 10, latency = 150, fill_and_store_k = 100;
  constexpr double pass_cycles = 5000, pass_bytes_a_cycle = 2000, alone_slower = 1.6;
  constexpr int warps = Tile::warps, schedulers = 4;
  const double outputs = 1.0 * Tile::m * Tile::n / Tile::threads;
  const double reads =
      (1.0 * Tile::warp_m / Tile::lanes_m + Tile::warp_n * Tile::lanes_m / 32.0) / 4;
  const double copies = (Tile::m + Tile::n / 4.0) / Tile::threads;
  const double step = outputs + reads + cycles_a_copy * copies;

  const unsigned sms = gemm::cuda::multiprocessors();
  const double units = 1.0 * gemm::cuda::blocks(problem, Tile::m, Tile::n) * parts;
  const double on_one_sm = std::ceil(units / sms);
  const double at_hand = std::min<double>(on_one_sm, Tile::blocks) * warps * outputs;
  const bool alone = std::min<double>(on_one_sm, Tile::blocks) * warps <= schedulers;
  const double hidden = at_hand / (at_hand + latency) / (alone ? alone_slower : 1);
  const double k = static_cast<double>(k_of_parts(problem, parts)) + fill_and_store_k;
  const double multiply = on_one_sm * warps * step * k / schedulers / hidden;
  if (parts == 1) return multiply;
  const double bytes =
      8.0 * parts * static_cast<double>(problem.shape.m * problem.shape.n * problem.batch);
  return multiply + pass_cycles + bytes / pass_bytes_a_cycle;
}

template <class Tile>
static void launch_tile(const gemm::Problem& problem, const gemm::Operands& operands, int parts) {
  gemm::cuda::launch_for_layout(
      problem, operands, Tile::m, Tile::n,
      [&](auto a_k_contiguous, auto b_k_contiguous, const auto& product, cudaStream_t stream,
          unsigned grid) {
        if constexpr (sizeof(gemm::cuda::StorageOf<decltype(product)>) == sizeof(float)) {
          const auto kernel = gemm_autotuned<Tile, a_k_contiguous(), b_k_contiguous()>;
          constexpr int bytes = Tile::stages * sizeof(Panels<Tile>);
          want_shared_memory(kernel, bytes);
          if (parts == 1) {
            kernel<<<grid, Tile::threads, bytes, stream>>>(product, problem.batch, product.k);
            return;
          }
          const long long pitch = part_pitch(problem), part = problem.shape.m * pitch;
          float* const sums = static_cast<float*>(operands.workspace);
          auto to_workspace = product;
          to_workspace.c = {sums, pitch, 1, part};
          to_workspace.alpha = 1;
          to_workspace.beta = 0;
          kernel<<<grid * parts, Tile::threads, bytes, stream>>>(to_workspace, problem.batch,
                                                                 k_of_parts(problem, parts));
          const Matrix<const float> from_workspace{sums, pitch, 1, part};
          const long long fours = problem.batch * problem.shape.m * (pitch / 4);
          gemm_autotuned_sum<<<static_cast<unsigned>((fours + 255) / 256), 256, 0, stream>>>(
              product, from_workspace, parts, problem.batch);
        }
      });
}

static bool workspace_holds(const gemm::Problem& problem, int parts) {
  const auto outputs = static_cast<double>(problem.batch * problem.shape.m * part_pitch(problem));
  return parts == 1 || 4.0 * parts * outputs <= gemm::workspace_bytes;
}

/// Adds what can be done with this tile.
template <class Tile>
static void add_choices(const gemm::Problem& problem, std::vector<Choice>& to) {
  for (const int parts : {1, 2, 3, 4, 6, 8, 12, 16})
    if (parts == 1 || (workspace_holds(problem, parts) && k_of_parts(problem, parts) > 0))
      to.push_back({launch_tile<Tile>, parts, predicted_cost<Tile>(problem, parts)});
}

static void launch(const gemm::Problem& problem, const gemm::Operands& operands) {
  std::vector<Choice> all;
  std::apply([&](auto... tile) { (add_choices<decltype(tile)>(problem, all), ...); },
             Configurations());
  const auto best = std::min_element(
      all.begin(), all.end(), [](const Choice& x, const Choice& y) { return x.cost < y.cost; });
  best->launch(problem, operands, best->parts);
}

static gemm::Refusal refuses(const gemm::Problem& problem) {
  if (problem.precision == gemm::Precision::fp16 || problem.precision == gemm::Precision::bf16)
    return "cp.async copies 16-bit elements as they are, and nobody would widen them; see "
           "warp_tiled";
  return gemm::cuda::refuses_tf32(problem);
}

const gemm::Register registered{
    {.name = "autotuned",
     .stage = gemm::Stage::autotuned,
     .idea = "tile and split of k by predicted cost, panels by cp.async",
     .arch = gemm::Arch::any,
     .refuses = refuses,
     .launch = launch,
     .tile = {32, 128, 1}}};  // the smallest: it chooses among its own

template <int parts>
static gemm::Refusal refuses_parts(const gemm::Problem& problem) {
  if (!workspace_holds(problem, parts))
    return "the workspace does not hold " + std::to_string(parts) + " parts of C";
  return refuses(problem);
}

/// k in so many parts, or in as many as it has.
template <class Tile, int most_parts>
static void launch_configuration(const gemm::Problem& problem, const gemm::Operands& operands) {
  int parts = most_parts;
  while (parts > 1 && k_of_parts(problem, parts) == 0) --parts;
  launch_tile<Tile>(problem, operands, parts);
}

// The model of dispatch does not know of parts: it takes a split for a kernel of the same tile
// whose rate is lower, as measured where the workspace holds the parts. So only its table names a
// split.
template <class Tile, int parts = 1>
static gemm::Kernel configuration(std::string_view name) {
  return {.name = name,
          .stage = gemm::Stage::autotuned,
          .idea = "a tile of autotuned, and a split of k, whatever the problem",
          .arch = gemm::Arch::any,
          .refuses = refuses_parts<parts>,
          .launch = launch_configuration<Tile, parts>,
          .tile = {Tile::m, Tile::n, 1},
          .configuration = true};
}

// autotuned_<tile, slice of k>_<outputs a thread>, and the parts of k if it is split
const gemm::Register configurations[] = {
    gemm::Register{configuration<Wide>("autotuned_128x256x8_8x16")},
    gemm::Register{configuration<Square>("autotuned_128x128x8_8x16")},
    gemm::Register{configuration<Square, 2>("autotuned_128x128x8_8x16_split2")},
    gemm::Register{configuration<Square, 8>("autotuned_128x128x8_8x16_split8")},
    gemm::Register{configuration<Half>("autotuned_64x128x16_8x8")}};

}  // namespace gemm::simt::autotuned
