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

#include "kernels/cpu/product.hpp"
#include "kernels/fault.hpp"

namespace gemm::cpu {
namespace {

// The widest vector that the build may use, and the largest patch that its registers hold: the
// sums, a row of B and one element of A.
#if defined(__AVX512F__)
constexpr std::int64_t vector_bytes = 64, patch_rows = 12;  // 32 registers
#elif defined(__AVX__)
constexpr std::int64_t vector_bytes = 32, patch_rows = 6;  // 16 registers
#else
constexpr std::int64_t vector_bytes = 16, patch_rows = 6;
#endif
using Vector = float __attribute__((vector_size(vector_bytes), may_alias));
constexpr std::int64_t lanes = vector_bytes / sizeof(float);
constexpr std::int64_t vectors = 2;  // in a row of the patch
constexpr std::int64_t patch_columns = vectors * lanes;

constexpr std::int64_t block_depth = 256;
constexpr std::int64_t block_rows = 40 * patch_rows;
constexpr std::int64_t block_columns = 512;
static_assert(block_columns % patch_columns == 0);

/// Panels of one block and its sums, in the workspace. Patches of C lie one after another, by
/// columns of patches, as the macro-kernel visits them.
struct Block {
  alignas(64) float a[block_rows * block_depth];
  alignas(64) float b[block_columns * block_depth];
  alignas(64) float sums[block_rows * block_columns];
};
static_assert(sizeof(Block) <= workspace_bytes);

constexpr std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Copies rows x depth elements of the view, from (row0, p0) on, into panels of `width` rows: all
/// rows of a panel for one p lie together. Missing rows of the last panel become zeros, so that
/// what the workspace held cannot slow the arithmetic. The source is read along its own rows, since
/// a cache line of it may not survive until a second visit.
template <std::int64_t width, typename T>
void pack(View<T> view, std::int64_t row0, std::int64_t rows, std::int64_t p0, std::int64_t depth,
          float* panel) {
  for (std::int64_t r = 0; r < rows; r += width, panel += width * depth) {
    const std::int64_t present = std::min(width, rows - r);
    if (present < width) std::fill_n(panel, width * depth, 0.0f);
    const auto copy = [&](std::int64_t i, std::int64_t p) {
      panel[p * width + i] = view(row0 + r + i, p0 + p);
    };
    if (view.row_stride == 1) {
      for (std::int64_t p = 0; p < depth; ++p) {
        for (std::int64_t i = 0; i < present; ++i) copy(i, p);
      }
    } else {
      for (std::int64_t i = 0; i < present; ++i) {
        for (std::int64_t p = 0; p < depth; ++p) copy(i, p);
      }
    }
  }
}

/// Adds the product of two panels to a patch of sums.
void micro_kernel(std::int64_t depth, const float* a, const float* b, float* sums) {
  Vector patch[patch_rows][vectors] = {};
  for (std::int64_t p = 0; p < depth; ++p, a += patch_rows, b += patch_columns) {
    const Vector* row = reinterpret_cast<const Vector*>(b);
    for (std::int64_t i = 0; i < patch_rows; ++i) {
      for (std::int64_t v = 0; v < vectors; ++v) patch[i][v] += a[i] * row[v];
    }
  }
  Vector* out = reinterpret_cast<Vector*>(sums);
  for (std::int64_t i = 0; i < patch_rows; ++i) {
    for (std::int64_t v = 0; v < vectors; ++v) out[i * vectors + v] += patch[i][v];
  }
}

/// Adds the product of the packed blocks to all patches of a block of sums.
void macro_kernel(std::int64_t rows, std::int64_t columns, std::int64_t depth, Block& block) {
  float* sums = block.sums;
  for (std::int64_t j = 0; j < columns; j += patch_columns) {
    for (std::int64_t i = 0; i < rows; i += patch_rows, sums += patch_rows * patch_columns) {
      micro_kernel(depth, block.a + i * depth, block.b + j * depth, sums);
    }
  }
}

/// Stores the finished sums of the block at (i0, j0) into C, without the zeros that filled it up.
template <typename T>
void store(const Product<T>& product, std::int64_t i0, std::int64_t j0, std::int64_t rows,
           std::int64_t columns, const float* sums) {
  for (std::int64_t j = 0; j < columns; j += patch_columns) {
    for (std::int64_t i = 0; i < rows; i += patch_rows, sums += patch_rows * patch_columns) {
      const std::int64_t rows_here = std::min(patch_rows, rows - i);
      std::int64_t columns_here = std::min(patch_columns, columns - j);
      if constexpr (fault("cpu_edge_off_by_one")) {
        if (columns_here < patch_columns) --columns_here;
      }
      if constexpr (fault("cpu_store_into_ld_gap"))
        columns_here = std::min(patch_columns, product.ldc - j0 - j);
      for (std::int64_t r = 0; r < rows_here; ++r) {
        for (std::int64_t c = 0; c < columns_here; ++c) {
          product.store(i0 + i + r, j0 + j + c, sums[r * patch_columns + c]);
        }
      }
    }
  }
}

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
        macro_kernel(rows, columns, depth, block);
      }
      store(product, i0, j0, rows, columns, block.sums);
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
