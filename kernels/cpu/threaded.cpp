// Rung 4 of the host ladder: the threads of the machine share one product.
//
// What changed: a tile of C is divided among a grid of threads, some of its rows and some of its
// columns for each. Every thread first packs its share of the tile's panels of A and of B; when all
// have done so, it multiplies the panels of its rows by those of its columns, most of which others
// packed. So an element is packed once for all threads, and each core streams only what its part
// of C needs.
//
// Which grid: the one whose busiest thread has the least to do, counted in whole patches. A square
// is cut either way; a product of few rows is cut by columns alone, one of few columns by rows
// alone, and both still have work for all.
//
// Twice in each block of k all threads wait for each other: the panels must be complete before they
// are read, and read before they are overwritten. A wait costs microseconds and a block of k some
// hundreds of them. A product too small for that is left to fewer threads, in the end to one.
//
// Threads are std::jthread, asleep between products (team.hpp), and not OpenMP: thread sanitizers
// see through the first and not through GCC's OpenMP, and the waits of a finished OpenMP region
// would burn the cores while the control is timed.
#include <algorithm>
#include <barrier>
#include <cstddef>

#include "kernels/cpu/panels.hpp"
#include "kernels/cpu/team.hpp"
#include "kernels/fault.hpp"

namespace gemm::cpu {
namespace {

// What one thread multiplies between two waits, at most.
constexpr std::int64_t block_depth = 256;
constexpr std::int64_t block_rows = 40 * patch_rows;
constexpr std::int64_t block_columns = 512;
static_assert(block_columns % patch_columns == 0);

constexpr double least_flops = 2e6;  // a thread: some 20 us of work

/// Threads by rows and columns of C.
struct Grid {
  std::int64_t rows, columns;
  std::int64_t threads() const { return rows * columns; }
};

/// Some rows or columns.
struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// Where the panels and the sums of a grid's tile lie in the workspace.
struct Tile {
  Tile(const Grid& grid, void* workspace)
      : a(static_cast<float*>(workspace)),
        b(a + grid.rows * block_rows * block_depth),
        sums(b + grid.columns * block_columns * block_depth) {}

  float *a, *b, *sums;
};

// A grid has no more rows than threads and no more columns.
constexpr std::size_t bytes_a_thread =
    sizeof(float) *
    (block_rows * block_depth + block_columns * block_depth + block_rows * block_columns);
static_assert(most_host_threads * bytes_a_thread <= workspace_bytes);

std::int64_t quotient_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

/// How many threads the product is worth.
template <typename T>
std::int64_t useful_threads(const Product<T>& product) {
  const double flops = 2.0 * static_cast<double>(product.m) * static_cast<double>(product.n) *
                       static_cast<double>(product.k);
  return static_cast<std::int64_t>(
      std::clamp(flops / least_flops, 1.0, static_cast<double>(host_threads())));
}

/// The grid whose busiest thread has the fewest patches.
template <typename T>
Grid choose_grid(const Product<T>& product) {
  const std::int64_t threads = useful_threads(product);
  const auto patches = [&](std::int64_t rows) {
    return quotient_up(product.m, rows * patch_rows) *
           quotient_up(product.n, threads / rows * patch_columns);
  };
  std::int64_t best = 1;
  for (std::int64_t rows = 2; rows <= threads; ++rows) {
    if (threads % rows == 0 && patches(rows) < patches(best)) best = rows;
  }
  return {best, threads / best};
}

/// The extent of equal tiles that are no larger than `most`, in whole panels.
std::int64_t tile_extent(std::int64_t extent, std::int64_t most, std::int64_t width) {
  return round_up(quotient_up(extent, quotient_up(extent, most)), width);
}

/// What falls to one of `parts` workers who divide an extent by panels.
Range share(std::int64_t extent, std::int64_t width, std::int64_t parts, std::int64_t index) {
  const std::int64_t panels = quotient_up(extent, width);
  const auto edge = [&](std::int64_t i) { return std::min(extent, panels * i / parts * width); };
  return {edge(index), edge(index + 1)};
}

/// The part of one thread in the product; all threads of the grid must do theirs.
template <typename T>
void multiply_share(const Product<T>& product, const Grid& grid, std::int64_t thread,
                    std::barrier<>& all) {
  const Tile tile(grid, product.workspace);
  float* const sums = tile.sums + thread * block_rows * block_columns;
  const View<T> b_transposed{product.b.data, product.b.column_stride, product.b.row_stride};
  const std::int64_t tile_rows = tile_extent(product.m, grid.rows * block_rows, patch_rows);
  const std::int64_t tile_columns =
      tile_extent(product.n, grid.columns * block_columns, patch_columns);

  for (std::int64_t j0 = 0; j0 < product.n; j0 += tile_columns) {
    const std::int64_t columns = std::min(tile_columns, product.n - j0);
    const Range to_pack_b = share(columns, patch_columns, grid.threads(), thread);
    Range mine_b = share(columns, patch_columns, grid.columns, thread % grid.columns);
    if constexpr (fault("cpu_last_share_short")) {
      if (thread == grid.threads() - 1)
        mine_b.end = std::max(mine_b.begin, mine_b.end - patch_columns);
    }
    for (std::int64_t i0 = 0; i0 < product.m; i0 += tile_rows) {
      const std::int64_t rows = std::min(tile_rows, product.m - i0);
      const Range to_pack_a = share(rows, patch_rows, grid.threads(), thread);
      const Range mine_a = share(rows, patch_rows, grid.rows, thread / grid.columns);
      std::fill_n(
          sums, round_up(mine_a.size(), patch_rows) * round_up(mine_b.size(), patch_columns), 0.0f);
      for (std::int64_t p0 = 0; p0 < product.k; p0 += block_depth) {
        const std::int64_t depth = std::min(block_depth, product.k - p0);
        pack<patch_rows>(product.a, i0 + to_pack_a.begin, to_pack_a.size(), p0, depth,
                         tile.a + to_pack_a.begin * depth);
        pack<patch_columns>(b_transposed, j0 + to_pack_b.begin, to_pack_b.size(), p0, depth,
                            tile.b + to_pack_b.begin * depth);
        all.arrive_and_wait();
        macro_kernel(mine_a.size(), mine_b.size(), depth, tile.a + mine_a.begin * depth,
                     tile.b + mine_b.begin * depth, sums);
        all.arrive_and_wait();
      }
      store(product, i0 + mine_a.begin, j0 + mine_b.begin, mine_a.size(), mine_b.size(), sums);
    }
  }
}

Team& team() {
  static Team one(host_threads());
  return one;
}

template <typename T>
void multiply(const Product<T>& product) {
  if (product.m == 0 || product.n == 0) return;
  const Grid grid = choose_grid(product);
  std::barrier<> all(grid.threads());
  if (grid.threads() == 1) return multiply_share(product, grid, 0, all);
  team().run([&](int rank) {
    if (rank < grid.threads()) multiply_share(product, grid, rank, all);
  });
}

void launch(const Problem& problem, const Operands& operands) {
  for_each_product(problem, operands, [](const auto& product) { multiply(product); });
}

const Register registered{{.name = "cpu_threaded",
                           .stage = Stage::cpu_threaded,
                           .idea = "threads pack panels for each other and divide the tile",
                           .arch = Arch::host,
                           .refuses = refuses,
                           .launch = launch}};

}  // namespace
}  // namespace gemm::cpu
