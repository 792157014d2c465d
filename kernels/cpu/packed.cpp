// Rung 3 of the host ladder: packed panels feed a micro-kernel that lives in registers.
//
// What changed: the sums of a small patch of C stay in vector registers for a whole block of the
// sum. A step of it loads one row of a B panel and patch_rows elements of an A panel, and spends
// them on patch_rows x patch_columns multiply-adds: with AVX-512, 24 vector FMAs for 14 loads and
// no stores, where the rung below had a load and a store for each FMA.
//
// The micro-kernel can afford only consecutive loads, so blocks of A and B are first copied into
// panels in the order in which it reads them. Packing also widens 16-bit storage to FP32, removes
// every layout and leading dimension, and fills incomplete panels with zeros: the micro-kernel has
// no cases. A packed element is used by some hundreds of multiply-adds, which pays for its copy.
// Both steps are in panels.hpp; here are the loops about them.
//
// Loops and caches (after the BLIS framework of Van Zee and van de Geijn; sizes with AVX-512):
//   block_columns, block_rows   a block of C, whose FP32 sums are kept until all of k is added, so
//                               that the storage type rounds once
//     block_depth               blocks of A (480 KiB) and B (512 KiB) are packed, for the second-
//                               level cache
//       patch_columns           a B panel (32 KiB) serves all patches below each other
//         patch_rows            an A panel (12 KiB) streams past it, into the micro-kernel
#include <algorithm>
#include <cstddef>
#include <utility>

#include "kernels/cpu/panels.hpp"
#include "kernels/fault.hpp"

namespace gemm::cpu {
namespace {

constexpr std::int64_t block_depth = 256;
constexpr std::int64_t block_rows = 40 * patch_rows;
constexpr std::int64_t block_columns = 512;
static_assert(block_columns % patch_columns == 0);

/// Panels of one block and its sums, in the workspace.
struct Block {
  alignas(64) float a[block_rows * block_depth];
  alignas(64) float b[block_columns * block_depth];
  alignas(64) float sums[block_rows * block_columns];
};
static_assert(sizeof(Block) <= workspace_bytes);

template <typename T>
void multiply(Product<T> product) {
  if constexpr (fault("cpu_beta_ignored")) product.beta = 0;
  if constexpr (fault("cpu_beta_squared")) product.beta *= product.beta;
  if constexpr (fault("cpu_last_k_tile_dropped"))
    product.k = (product.k - 1) / block_depth * block_depth;
  if constexpr (fault("cpu_ld_ignored"))
    product.a.row_stride = product.a.row_stride == 1 ? 1 : product.k;
  if constexpr (fault("cpu_result_cached_by_pointer")) {
    static const void* done = nullptr;
    if (std::exchange(done, product.c) == product.c) return;
  }
  Block& block = *static_cast<Block*>(product.workspace);
  const View<T> b_transposed{product.b.data, product.b.column_stride, product.b.row_stride};
  for (std::int64_t j0 = 0; j0 < product.n; j0 += block_columns) {
    const std::int64_t columns = std::min(block_columns, product.n - j0);
    for (std::int64_t i0 = 0; i0 < product.m; i0 += block_rows) {
      const std::int64_t rows = std::min(block_rows, product.m - i0);
      if constexpr (!fault("cpu_sums_not_cleared"))
        std::fill_n(block.sums, round_up(rows, patch_rows) * round_up(columns, patch_columns),
                    0.0f);
      for (std::int64_t p0 = 0; p0 < product.k; p0 += block_depth) {
        const std::int64_t depth = std::min(block_depth, product.k - p0);
        pack<patch_rows>(product.a, i0, rows, p0, depth, block.a);
        pack<patch_columns>(b_transposed, j0, columns, p0, depth, block.b);
        macro_kernel(rows, columns, depth, block.a, block.b, block.sums);
      }
      std::int64_t stored = columns;
      if constexpr (fault("cpu_edge_off_by_one")) stored -= columns % patch_columns != 0;
      if constexpr (fault("cpu_store_into_ld_gap"))
        stored = std::min(round_up(columns, patch_columns), product.ldc - j0);
      store(product, i0, j0, rows, stored, block.sums);
    }
  }
}

void launch(const Problem& problem, const Operands& operands) {
  for_each_product(problem, operands, [](const auto& product) { multiply(product); });
}

const Register registered{{.name = "cpu_packed",
                           .stage = Stage::cpu_packed,
                           .idea = "packed panels feed a micro-kernel whose sums stay in registers",
                           .arch = Arch::host,
                           .refuses = refuses,
                           .launch = launch}};

}  // namespace
}  // namespace gemm::cpu
